//! Paths of Windows in the terms that the judgement of targets knows.

/// A path with slashes; the roots of Windows become their counterparts: `C:\` is `/`, `C:\Windows` lies in `/usr`,
/// `C:\Users\x` is `~`. Other paths keep their drive.
pub(super) fn posix(path: &str) -> String {
    let path = path.replace('\\', "/");
    let Some((drive, rest)) = path.split_once(':') else { return path };
    let is_drive = drive.len() == 1 && drive.bytes().all(|letter| letter.is_ascii_alphabetic());
    if !is_drive || !(rest.is_empty() || rest.starts_with('/')) {
        return path;
    }
    let rest = rest.trim_start_matches('/');
    let (first, below) = rest.split_once('/').unwrap_or((rest, ""));
    let under =
        |root: &str, below: &str| if below.is_empty() { root.to_owned() } else { format!("{root}/{below}") };
    match first.to_ascii_lowercase().as_str() {
        "" => "/".to_owned(),
        "*" | "*.*" => "/*".to_owned(),
        "windows" if below.to_ascii_lowercase().starts_with("temp/") => {
            under("/tmp", below.get(5..).unwrap_or(""))
        }
        "windows" | "program files" | "program files (x86)" => under("/usr", below),
        "programdata" => under("/var/lib", below),
        "temp" | "tmp" => under("/tmp", below),
        "users" if below.is_empty() => "/home".to_owned(),
        "users" => match below.split_once('/') {
            None if below == "*" => "/home/*".to_owned(),
            None => "~".to_owned(),
            Some((_, inside)) if inside.to_ascii_lowercase().starts_with("appdata/local/temp/") => {
                under("/tmp", inside.get(19..).unwrap_or(""))
            }
            Some((_, inside)) => under("~", inside),
        },
        _ => path,
    }
}

/// The value of a well-known variable of the environment.
pub(super) fn environment(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "userprofile" | "home" | "homepath" => Some("~"),
        "temp" | "tmp" => Some("/tmp"),
        "systemdrive" | "homedrive" => Some("C:"),
        "systemroot" | "windir" => Some("C:\\Windows"),
        "programfiles" | "programfiles(x86)" => Some("C:\\Program Files"),
        "programdata" | "allusersprofile" => Some("C:\\ProgramData"),
        "appdata" => Some("~/AppData/Roaming"),
        "localappdata" => Some("~/AppData/Local"),
        "public" => Some("C:\\Users\\Public"),
        _ => None,
    }
}
