// The script of the console: theme, running times, keyboard, answers, live events. Its only library is htmx, and nothing
// is loaded from other hosts. Texts of agents reach the page through textContent, or as HTML that the service has escaped.
(() => {
  "use strict";
  const root = document.documentElement;
  const store = {
    get: (name) => { try { return localStorage.getItem(name); } catch { return null; } },
    set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* private mode */ } },
  };

  // Set before the first paint, so that the page does not flash.
  const chosen = store.get("midrail-theme");
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const csrf = () => one('meta[name="csrf"]')?.content;
  const headers = (more = {}) => (csrf() ? { "x-csrf-token": csrf(), ...more } : more);
  const post = (path, body) => fetch(path, { method: "POST", headers: headers({ "content-type": "application/json" }), body: JSON.stringify(body) });

  document.addEventListener("htmx:config:request", (event) => {
    const token = csrf();
    if (token) event.detail.ctx.request.headers["x-csrf-token"] = token;
  });

  const toast = (text, kind = "") => {
    const box = one("#toasts");
    if (!box) return;
    const made = document.createElement("div");
    made.className = `toast ${kind}`;
    made.textContent = text;
    box.append(made);
    setTimeout(() => made.remove(), 6000);
  };

  // The error message of the service.
  const problem = async (response) => {
    const text = await response.text();
    try {
      const message = JSON.parse(text);
      return [message.detail, message.help].filter(Boolean).join(" — ") || response.statusText;
    } catch { return text.length < 300 && !text.includes("<") ? text : `The service answered ${response.status}.`; }
  };

  // Times.
  const span = (seconds) => {
    const days = Math.floor(seconds / 86400), hours = Math.floor(seconds / 3600) % 24, minutes = Math.floor(seconds / 60) % 60;
    if (days) return `${days} d ${hours} h`;
    if (hours) return `${hours} h ${minutes} min`;
    if (minutes > 9) return `${minutes} min`;
    if (minutes) return `${minutes} min ${Math.floor(seconds) % 60} s`;
    return `${Math.floor(seconds)} s`;
  };
  const runTimes = () => {
    const now = Date.now();
    for (const time of all("time.ago")) {
      const past = (now - Date.parse(time.dateTime)) / 1000;
      if (Number.isNaN(past)) continue;
      time.textContent = past < 0 ? `in ${span(-past)}` : past < 5 ? "just now" : `${span(past)} ago`;
    }
    for (const time of all("time.countdown")) {
      const left = (Date.parse(time.dateTime) - now) / 1000;
      if (Number.isNaN(left)) continue;
      time.textContent = left > 0 ? span(left) : "time is up";
      time.classList.toggle("soon", left > 0 && left < 300);
      time.classList.toggle("over", left <= 0);
    }
  };

  // The number of open requests, in the navigation and in the title.
  const plainTitle = document.title;
  const showWaiting = (number) => {
    const badge = one("#waiting");
    if (badge) { badge.textContent = number; badge.hidden = number === 0; }
    document.title = number > 0 ? `(${number}) ${plainTitle}` : plainTitle;
  };
  const countWaiting = async () => {
    const response = await fetch("/approvals/waiting", { headers: { accept: "application/json" } }).catch(() => null);
    if (response?.ok) showWaiting((await response.json()).waiting);
  };

  // Notifications, if the user has enabled them.
  const wantsNotices = () => "Notification" in window && Notification.permission === "granted" && store.get("midrail-notify") === "on";
  const offerNotices = () => {
    const button = one("[data-notify]");
    if (!button || !("Notification" in window)) return;
    const show = () => {
      button.hidden = Notification.permission === "denied";
      button.textContent = wantsNotices() ? "Notifying you" : "Notify me";
      button.setAttribute("aria-pressed", String(wantsNotices()));
    };
    button.addEventListener("click", async () => {
      if (wantsNotices()) store.set("midrail-notify", "off");
      else {
        const answer = await Notification.requestPermission();
        store.set("midrail-notify", answer === "granted" ? "on" : "off");
        if (answer !== "granted") toast("The browser does not allow notifications here.");
      }
      show();
    });
    show();
  };
  const notify = (message) => {
    if (!wantsNotices() || document.visibilityState === "visible") return;
    const notice = new Notification("Midrail: an agent waits for you", { body: message.what, tag: message.id, icon: "/assets/icon.svg" });
    notice.addEventListener("click", () => { window.focus(); location.href = `/approvals/${encodeURIComponent(message.id)}`; });
  };

  // Live events. One of all tabs listens, and forwards them to the others.
  const refresh = (() => {
    let due = 0;
    return () => {
      if (due) return;
      due = setTimeout(() => {
        due = 0;
        const box = one("#overview");
        if (box && window.htmx && document.visibilityState === "visible") window.htmx.trigger(box, "refresh");
      }, 3000);
    };
  })();
  const happened = (kind, message) => {
    if (kind === "approval") {
      caughtUp();
      if (message.status === "pending") { notify(message); if (!one("#queue")) toast(`Waits for a person: ${message.what}`, "warn"); }
    } else if (kind === "alert") { toast(`${message.name.replaceAll("_", " ")}: ${message.message}`, "bad"); refresh(); }
    else refresh();
  };
  const caughtUp = () => {
    countWaiting();
    const queue = one("#queue");
    if (queue && window.htmx) window.htmx.trigger(queue, "refresh");
    refresh();
  };
  const liveState = (state) => {
    for (const place of all(".live-state")) {
      place.dataset.state = state;
      const word = one(".live-word", place);
      if (word) word.textContent = state === "on" ? "live" : state === "off" ? "offline" : "connecting";
    }
  };
  const parsed = (text) => { try { return JSON.parse(text); } catch { return null; } };
  const open = (query, onEvent) => {
    const source = new EventSource(`${document.body.dataset.live}?${query}`);
    // Events between the rendering of the page and now, or while disconnected, are not repeated.
    source.addEventListener("open", () => { liveState("on"); caughtUp(); });
    source.addEventListener("error", () => liveState(source.readyState === EventSource.CLOSED ? "off" : "wait"));
    for (const kind of ["decision", "change", "approval", "alert", "passed"]) {
      source.addEventListener(kind, (event) => { const message = parsed(event.data); if (message) onEvent(kind, message); });
    }
    addEventListener("pagehide", () => source.close());
    return source;
  };
  const listen = () => {
    if (!document.body.dataset.live) return;
    const channel = "BroadcastChannel" in window ? new BroadcastChannel(`midrail-${document.body.dataset.project}`) : null;
    channel?.addEventListener("message", (event) => { liveState("on"); happened(event.data.kind, event.data.message); });
    const lead = () => open("", (kind, message) => { happened(kind, message); channel?.postMessage({ kind, message }); });
    if (channel && navigator.locks) {
      navigator.locks.request(`midrail-live-${document.body.dataset.project}`, { ifAvailable: true }, (lock) => {
        if (lock) { lead(); return new Promise(() => {}); }
        liveState("on");
        // If the listening tab is closed, another one takes over.
        return navigator.locks.request(`midrail-live-${document.body.dataset.project}`, () => { lead(); return new Promise(() => {}); });
      }).catch(() => {});
    } else lead();
  };

  // The live page: newest on top, with a limit.
  const MOST = 500;
  const live = () => {
    const table = one("#live");
    if (!table) return false;
    const rows = one("#live-rows"), pause = one("#live-pause"), missed = one("#live-missed");
    let held = null, queued = [], drawing = 0;
    const draw = () => {
      drawing = 0;
      const made = document.createElement("template");
      made.innerHTML = queued.slice(-MOST).reverse().join("");
      for (const row of made.content.children) row.classList.add("fresh");
      queued = [];
      rows.prepend(made.content);
      while (rows.children.length > MOST) rows.lastElementChild.remove();
      one("#live-empty").hidden = rows.children.length > 0;
    };
    const take = (row) => { queued.push(row); if (!drawing) drawing = requestAnimationFrame(draw); };
    const query = new URLSearchParams(new FormData(one("#live-filters")));
    for (const [name, value] of Array.from(query)) if (!value) query.delete(name);
    query.set("rows", "true");
    query.set("after", table.dataset.after);
    open(query, (kind, message) => {
      if (message.row) {
        if (!held) { take(message.row); return; }
        held.push(message.row);
        if (held.length > MOST) held.shift();
        missed.textContent = `${held.length}${held.length === MOST ? "+" : ""} new`;
      } else if (kind !== "passed") happened(kind, message);
    });
    pause.addEventListener("click", () => {
      const rest = held;
      held = held ? null : [];
      pause.textContent = held ? "Resume" : "Pause";
      pause.setAttribute("aria-pressed", String(Boolean(held)));
      missed.textContent = "";
      rest?.forEach(take);
    });
    return true;
  };

  // Answers: always confirmed, always with the token of this page.
  const words = {
    approve: ["Approve this call?", "Approve", "The same call is allowed once. Your note is recorded.", "approve"],
    deny: ["Deny this call?", "Deny", "The call stays blocked. The agent sees your note.", "deny"],
    "take-back": ["Revoke the approval?", "Revoke", "The call is blocked again, unless it was made meanwhile. The agent sees your note.", "deny"],
    review: ["Review an emergency override", "File the review", "Describe what happened, whether it was justified, and what to do about it.", ""],
  };
  let answering = null;
  const ask = (item, answer) => {
    const dialog = one("#answer");
    const [title, verb, follows, look] = words[answer];
    answering = { item, answer };
    one("#answer-title").textContent = title;
    one("#answer-what").textContent = item.dataset.what;
    one("#answer-follows").textContent = follows;
    one("#answer-label").textContent = answer === "review" ? "Review" : "Reason (recorded, optional)";
    one("#answer-note").value = "";
    one("#answer-error").hidden = true;
    const confirm = one("#answer-confirm");
    confirm.textContent = verb;
    confirm.className = `button ${look}`;
    dialog.showModal();
    one("#answer-note").focus();
  };
  const send = async (event) => {
    event.preventDefault();
    const { item, answer } = answering;
    const confirm = one("#answer-confirm");
    confirm.disabled = true;
    try {
      const text = one("#answer-note").value;
      const [path, body] = answer === "review" ? ["review", { text }] : ["decide", { approve: answer === "approve", note: text }];
      // A call may be held by several guardrails, each with a request of its own.
      for (const id of item.dataset.approval.split(" ")) {
        const response = await post(`/v1/approvals/${encodeURIComponent(id)}/${path}`, body);
        if (!response.ok) {
          one("#answer-error").textContent = await problem(response);
          one("#answer-error").hidden = false;
          return;
        }
      }
      one("#answer").close();
      toast({ approve: "Approved: the same call is allowed once.", deny: "Denied: the call stays blocked.", "take-back": "Revoked: the call is blocked again." }[answer] || "The review is filed.", "good");
      countWaiting();
      if (item.id === "approval") {
        const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
        const fresh = one("#approval", page);
        item.replaceWith(fresh);
        if (window.htmx) window.htmx.process(fresh);
        runTimes();
        select(fresh);
      } else {
        const queue = one("#queue"), hasAlike = item.closest(".request")?.querySelector(".alike");
        if (item.matches("[data-item]")) move(1, item);
        if (!hasAlike) item.remove();
        if (queue && (hasAlike || !one(".request", queue)) && window.htmx) window.htmx.trigger(queue, "refresh");
      }
    } catch {
      one("#answer-error").textContent = "The service cannot be reached. The answer was not sent.";
      one("#answer-error").hidden = false;
    } finally { confirm.disabled = false; }
  };

  // Keyboard.
  const items = () => all("main [data-item]").filter((item) => item.offsetParent !== null);
  const select = (item) => {
    for (const other of all("[data-item].selected")) other.classList.remove("selected");
    if (!item) return;
    item.classList.add("selected");
    item.scrollIntoView({ block: "nearest" });
  };
  const selected = () => one("[data-item].selected");
  const move = (by, from = selected()) => {
    const list = items();
    if (!list.length) return;
    const at = list.indexOf(from);
    select(list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by))]);
  };
  const enter = (item) => {
    if ("toggle" in item.dataset) { const inner = one("details", item); if (inner) inner.open = !inner.open; }
    else if (item.dataset.href) location.href = item.dataset.href;
  };
  let went = 0;
  const key = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (typing) { if (event.key === "Escape") typing.blur(); return; }
    if (one("dialog[open]")) return;
    if (went && Date.now() - went < 1500) {
      went = 0;
      const link = one(`nav.main [data-go="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); location.href = link.href; }
      return;
    }
    const item = selected();
    const act = {
      j: () => move(1), k: () => move(-1),
      Enter: () => { if (item && event.target === document.body) enter(item); else return true; },
      a: () => answerBy(item, "approve"), d: () => answerBy(item, "deny"), t: () => answerBy(item, "take-back"),
      g: () => { went = Date.now(); },
      p: () => one("#live-pause")?.click(),
      "/": () => { const field = one("[data-search]"); if (field) { field.focus(); field.select?.(); } },
      "?": () => one("#help")?.showModal(),
    }[event.key];
    if (act && act() !== true) event.preventDefault();
  };
  const answerBy = (item, answer) => {
    const target = item?.dataset.approval ? item : items().find((other) => other.dataset.approval);
    const button = target && one(`[data-answer="${answer}"]`, target);
    if (!button) return;
    select(target);
    ask(target, answer);
  };

  // Actions of a list, and forms: requests to the API.
  const sendTo = async (path, body, next) => {
    const response = await post(path, body).catch(() => null);
    if (!response?.ok) { toast(response ? await problem(response) : "The service cannot be reached.", "bad"); return; }
    const made = response.status === 201 ? await response.json() : null;
    if (!made?.key) { if (next) location.href = next; else location.reload(); return; }
    one("#made code").textContent = made.key;
    one("#made").hidden = false;
  };
  const sendForm = (form) => {
    const value = (field) => "list" in field.dataset ? field.value.split(",").map((part) => part.trim()).filter(Boolean) : field.type === "number" ? Number(field.value) : field.value.trim();
    const given = Array.from(form.elements).filter((field) => field.name && field.value.trim());
    sendTo(form.dataset.post, Object.fromEntries(given.map((field) => [field.name, value(field)])));
  };

  const login = async (event) => {
    event.preventDefault();
    const form = event.target, error = one("#login-error");
    const given = Object.fromEntries(new FormData(form));
    if (!given.project) delete given.project;
    error.hidden = true;
    try {
      const response = await fetch("/v1/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(given) });
      if (response.ok) { location.replace(form.dataset.next || "/"); return; }
      error.textContent = await problem(response);
    } catch { error.textContent = "The service cannot be reached."; }
    error.hidden = false;
  };

  document.addEventListener("click", async (event) => {
    const target = event.target;
    const button = target.closest("button");
    if (button?.dataset.answer) { ask(button.closest("[data-approval]"), button.dataset.answer); return; }
    if (button?.matches("[data-theme-switch]")) {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      store.set("midrail-theme", root.dataset.theme);
      return;
    }
    if (button?.dataset.post) {
      if ("sure" in button.dataset) sendTo(button.dataset.post, JSON.parse(button.dataset.body), button.dataset.next);
      else { button.dataset.sure = ""; button.textContent = `Confirm: ${button.textContent.toLowerCase()}`; }
      return;
    }
    if (button?.matches("[data-help]")) { one("#help")?.showModal(); return; }
    if (button?.matches("#answer-cancel")) { one("#answer").close(); return; }
    if (button?.matches("[data-logout]")) {
      await fetch("/v1/logout", { method: "POST", headers: headers() }).catch(() => null);
      location.href = "/login";
      return;
    }
    // A click anywhere in a row opens it, unless it is on a link or button, or selects text.
    const item = target.closest("tr[data-item], li[data-item], article[data-item]");
    if (item && !target.closest("a, button, summary, input, textarea, select, pre, label") && !String(getSelection())) {
      select(item);
      if (item.matches("tr") && item.dataset.href) location.href = item.dataset.href;
    }
  });
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-switch-project]")) return;
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `midrail_project=${encodeURIComponent(event.target.value)}; Path=/; SameSite=Strict; Max-Age=31536000${secure}`;
    location.href = "/";
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.dataset.post) return;
    event.preventDefault();
    sendForm(event.target);
  });
  document.addEventListener("keydown", key);
  document.addEventListener("htmx:after:swap", runTimes);
  // A busy button shows its progress.
  document.addEventListener("htmx:before:request", (event) => {
    const button = event.target.closest?.("[data-busy]");
    if (button) { button.dataset.words = button.textContent; button.textContent = button.dataset.busy; button.disabled = true; }
  });
  document.addEventListener("htmx:finally:request", (event) => {
    const button = event.target.closest?.("[data-busy]");
    if (button?.dataset.words) { button.textContent = button.dataset.words; button.disabled = false; }
  });

  document.addEventListener("DOMContentLoaded", () => {
    one("#login")?.addEventListener("submit", login);
    one("#answer-form")?.addEventListener("submit", send);
    showWaiting(Number(document.body.dataset.waiting || 0));
    offerNotices();
    runTimes();
    setInterval(runTimes, 1000);
    if (!live()) listen();
  });
})();
