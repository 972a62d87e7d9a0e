# Midrail: what commands print passes through `midrail redact`, because this program cannot replace the output of a command
# that fails. Exit codes stay, and rules of permission apply to the command as it is.
if [ -n "${BASH_VERSION:-}${ZSH_VERSION:-}" ]; then
  exec 9>&1
  exec > >(@REDACT@ >&9 || { echo "[output withheld] \`midrail redact\` failed. Run: midrail doctor" >&9; cat >/dev/null; }) 2>&1 9>&-
  [ -z "${ZSH_VERSION:-}" ] || zmodload zsh/system
  midrail_redact=${sysparams[procsubstpid]:-$!}
  # A process in the background may keep the output open.
  trap 'midrail_code=$?; exec >&- 2>&-; for midrail_try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do kill -0 "$midrail_redact" 2>/dev/null || break; sleep 0.05; done; exit $midrail_code' EXIT
fi
