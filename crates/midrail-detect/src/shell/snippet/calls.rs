//! The functions of other languages that start, remove, read, write, fetch or decode something.

use super::Language::{self, AppleScript, Awk, Elixir, Groovy, Julia, Lua, Node, Perl, Php, Python, R, Ruby};

/// What calling a function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Runs its first argument: a command line, or a list of a program and its arguments.
    Line,
    /// Runs its arguments: one is a command line, several are a program and its arguments.
    Argv,
    /// Runs the program of its first argument with the list of its second.
    Spawn,
    /// As the `exec` family of C: a program, then its arguments from the zeroth on.
    Exec,
    /// Removes files.
    Remove,
    /// Removes folders with all that lies in them.
    RemoveTree,
    /// Removes; a setting `recursive` decides how much.
    RemoveBySetting,
    /// Walks through all that lies below a folder: the folder, its folders and its files.
    Walk,
    /// The names of what lies in a folder.
    Listing,
    /// A folder or file that is made for a while.
    Temporary,
    /// The folder in which such are made.
    TemporaryFolder,
    /// Connects to a database.
    Database,
    /// Hands a statement to a database.
    Statement,
    /// Hands the statement of its second argument to a database.
    SecondStatement,
    /// Replaces the content of the file of its first argument.
    Overwrite,
    /// Reads the file of its first argument.
    Read,
    /// Writes the file of its first argument.
    Write,
    /// Opens a file; the mode decides.
    Open,
    /// Moves or copies its first argument to its second.
    Move,
    /// Fetches a URL.
    Fetch,
    /// Connects to a host.
    Connect,
    /// Runs its first argument as code of the same language.
    Code,
    /// Hands open descriptors to another program.
    HandOver,
    /// A module by its name.
    Module,
    /// The member of its first argument that its second names.
    Member,
    /// Its first argument.
    Same,
    /// Calls the function that its first argument names, with the others.
    Apply,
    /// Decodes its first argument.
    Decode(Decoder),
    /// Joins parts of a path.
    JoinPath,
    /// Joins a list.
    Join,
    /// Characters by their numbers.
    Characters,
    /// The user's home.
    Home,
    /// Splits a text into words.
    Split,
}

/// A way of decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoder {
    /// Base64.
    Base64,
    /// Hexadecimal digits.
    Hex,
    /// Percent-encoding.
    Percent,
    /// Rot13.
    Rot13,
    /// From end to start.
    Reverse,
    /// The second argument names it.
    Named,
    /// Compression and the like: the result is not known.
    Unknown,
}

/// The functions by language and name. `::` and `->` stand as dots.
const CALLS: &[(Language, &[&str], Effect)] = &[
    // Python.
    (
        Python,
        &[
            "os.system",
            "os.popen",
            "commands.getoutput",
            "commands.getstatusoutput",
            "subprocess.getoutput",
            "subprocess.getstatusoutput",
            "asyncio.create_subprocess_shell",
            "pexpect.spawn",
            "pexpect.run",
        ],
        Effect::Line,
    ),
    (
        Python,
        &[
            "subprocess.run",
            "subprocess.call",
            "subprocess.check_call",
            "subprocess.check_output",
            "subprocess.Popen",
            "pty.spawn",
        ],
        Effect::Line,
    ),
    (Python, &["asyncio.create_subprocess_exec"], Effect::Argv),
    (
        Python,
        &[
            "os.execl",
            "os.execlp",
            "os.execle",
            "os.execlpe",
            "os.execv",
            "os.execvp",
            "os.execve",
            "os.execvpe",
            "os.posix_spawn",
            "os.posix_spawnp",
        ],
        Effect::Exec,
    ),
    (
        Python,
        &["os.remove", "os.unlink", "os.rmdir", "os.removedirs", "send2trash.send2trash"],
        Effect::Remove,
    ),
    (Python, &["shutil.rmtree"], Effect::RemoveTree),
    (Python, &["open", "io.open", "os.open", "codecs.open"], Effect::Open),
    (Python, &["os.truncate"], Effect::Overwrite),
    (Python, &["os.walk", "os.fwalk"], Effect::Walk),
    (Python, &["os.listdir"], Effect::Listing),
    (Python, &["tempfile.mkdtemp", "tempfile.mktemp"], Effect::Temporary),
    (Python, &["tempfile.gettempdir"], Effect::TemporaryFolder),
    (
        Python,
        &[
            "sqlite3.connect",
            "duckdb.connect",
            "psycopg2.connect",
            "psycopg.connect",
            "pymysql.connect",
            "MySQLdb.connect",
            "mysql.connector.connect",
            "pyodbc.connect",
            "oracledb.connect",
            "asyncpg.connect",
        ],
        Effect::Database,
    ),
    (Php, &["mysqli_query", "pg_query", "mysqli_multi_query"], Effect::SecondStatement),
    (Ruby, &["Dir.children", "Dir.entries", "Dir.each_child"], Effect::Listing),
    (Ruby, &["Dir.mktmpdir"], Effect::Temporary),
    (Ruby, &["Dir.tmpdir"], Effect::TemporaryFolder),
    (Node, &["fs.readdirSync"], Effect::Listing),
    (Node, &["fs.mkdtempSync", "fs.mkdtemp", "fs.promises.mkdtemp"], Effect::Temporary),
    (Node, &["os.tmpdir"], Effect::TemporaryFolder),
    (Node, &["JSON.stringify", "Object.entries", "Object.values"], Effect::Same),
    (Php, &["sys_get_temp_dir"], Effect::TemporaryFolder),
    (Php, &["scandir"], Effect::Listing),
    (
        Python,
        &[
            "os.rename",
            "os.replace",
            "os.renames",
            "shutil.move",
            "shutil.copy",
            "shutil.copy2",
            "shutil.copyfile",
            "shutil.copytree",
        ],
        Effect::Move,
    ),
    (
        Python,
        &[
            "urllib.request.urlopen",
            "request.urlopen",
            "urllib.urlopen",
            "urllib2.urlopen",
            "urllib.request.urlretrieve",
            "urllib.request.Request",
            "requests.get",
            "requests.post",
            "requests.put",
            "requests.request",
            "requests.head",
            "httpx.get",
            "httpx.post",
            "http.client.HTTPConnection",
            "http.client.HTTPSConnection",
        ],
        Effect::Fetch,
    ),
    (Python, &["socket.create_connection"], Effect::Connect),
    (Python, &["exec", "eval", "builtins.exec", "builtins.eval"], Effect::Code),
    (Python, &["os.dup2"], Effect::HandOver),
    (Python, &["__import__", "importlib.import_module"], Effect::Module),
    (Python, &["getattr"], Effect::Member),
    (Python, &["map"], Effect::Apply),
    (Php, &["array_map", "call_user_func", "call_user_func_array"], Effect::Apply),
    (
        Python,
        &[
            "compile",
            "dict",
            "json.dumps",
            "urllib.parse.urlencode",
            "os.environ.copy",
            "os.environ.items",
            "str",
            "bytes",
            "bytearray",
            "repr",
            "os.path.expanduser",
            "os.path.abspath",
            "os.path.realpath",
            "os.path.expandvars",
            "glob.glob",
            "glob.iglob",
            "list",
            "sorted",
        ],
        Effect::Same,
    ),
    (
        Python,
        &[
            "base64.b64decode",
            "base64.urlsafe_b64decode",
            "base64.standard_b64decode",
            "base64.decodebytes",
            "binascii.a2b_base64",
        ],
        Effect::Decode(Decoder::Base64),
    ),
    (
        Python,
        &["bytes.fromhex", "bytearray.fromhex", "binascii.unhexlify", "binascii.a2b_hex"],
        Effect::Decode(Decoder::Hex),
    ),
    (Python, &["urllib.parse.unquote"], Effect::Decode(Decoder::Percent)),
    (Python, &["codecs.decode"], Effect::Decode(Decoder::Named)),
    (
        Python,
        &[
            "zlib.decompress",
            "gzip.decompress",
            "bz2.decompress",
            "lzma.decompress",
            "marshal.loads",
            "pickle.loads",
            "base64.b32decode",
            "base64.b85decode",
            "base64.a85decode",
        ],
        Effect::Decode(Decoder::Unknown),
    ),
    (Python, &["os.path.join"], Effect::JoinPath),
    (Python, &["chr"], Effect::Characters),
    (Python, &["pathlib.Path.home"], Effect::Home),
    (Python, &["shlex.split"], Effect::Split),
    // JavaScript.
    (Node, &["child_process.exec", "child_process.execSync", "Deno.run"], Effect::Line),
    (
        Node,
        &[
            "child_process.spawn",
            "child_process.spawnSync",
            "child_process.execFile",
            "child_process.execFileSync",
            "Deno.Command",
        ],
        Effect::Spawn,
    ),
    (Node, &["Bun.spawn", "Bun.spawnSync"], Effect::Line),
    (Node, &["fs.unlink", "fs.unlinkSync", "fs.promises.unlink"], Effect::Remove),
    (
        Node,
        &[
            "fs.rm",
            "fs.rmSync",
            "fs.promises.rm",
            "fs.rmdir",
            "fs.rmdirSync",
            "fs.promises.rmdir",
            "Deno.remove",
            "Deno.removeSync",
        ],
        Effect::RemoveBySetting,
    ),
    (
        Node,
        &[
            "rimraf",
            "rimraf.sync",
            "rimraf.rimraf",
            "rimraf.rimrafSync",
            "fs-extra.remove",
            "fs-extra.removeSync",
            "fs-extra.emptyDir",
            "fs-extra.emptyDirSync",
            "del",
            "del.sync",
        ],
        Effect::RemoveTree,
    ),
    (
        Node,
        &[
            "fs.readFile",
            "fs.readFileSync",
            "fs.promises.readFile",
            "fs.createReadStream",
            "Deno.readTextFile",
            "Deno.readTextFileSync",
            "Bun.file",
        ],
        Effect::Read,
    ),
    (
        Node,
        &[
            "fs.writeFile",
            "fs.writeFileSync",
            "fs.promises.writeFile",
            "fs.createWriteStream",
            "fs.truncate",
            "fs.truncateSync",
            "Deno.writeTextFile",
            "Deno.writeTextFileSync",
            "Bun.write",
        ],
        Effect::Overwrite,
    ),
    (Node, &["fs.appendFile", "fs.appendFileSync", "fs.promises.appendFile"], Effect::Write),
    (
        Node,
        &[
            "fs.rename",
            "fs.renameSync",
            "fs.promises.rename",
            "fs.copyFile",
            "fs.copyFileSync",
            "fs.promises.copyFile",
            "fs.cpSync",
        ],
        Effect::Move,
    ),
    (
        Node,
        &[
            "fetch",
            "http.get",
            "https.get",
            "http.request",
            "https.request",
            "axios",
            "axios.get",
            "axios.post",
            "got",
        ],
        Effect::Fetch,
    ),
    (Node, &["net.connect", "net.createConnection", "tls.connect", "Deno.connect"], Effect::Connect),
    (Node, &["eval", "Function", "vm.runInThisContext", "vm.runInNewContext"], Effect::Code),
    (Node, &["require", "import", "process.mainModule.require", "process.binding"], Effect::Module),
    (Node, &["String", "path.resolve", "path.normalize", "globSync", "glob.sync"], Effect::Same),
    (Node, &["atob"], Effect::Decode(Decoder::Base64)),
    (Node, &["Buffer.from", "Buffer"], Effect::Decode(Decoder::Named)),
    (Node, &["decodeURIComponent", "decodeURI", "unescape"], Effect::Decode(Decoder::Percent)),
    (Node, &["zlib.gunzipSync", "zlib.inflateSync"], Effect::Decode(Decoder::Unknown)),
    (Node, &["path.join"], Effect::JoinPath),
    (Node, &["String.fromCharCode", "String.fromCodePoint"], Effect::Characters),
    (Node, &["os.homedir"], Effect::Home),
    // Perl.
    (Perl, &["system", "exec"], Effect::Argv),
    (Perl, &["readpipe", "capture"], Effect::Line),
    (Perl, &["unlink", "rmdir"], Effect::Remove),
    (Perl, &["rmtree", "remove_tree"], Effect::RemoveTree),
    (Perl, &["open", "sysopen"], Effect::Open),
    (Perl, &["truncate"], Effect::Overwrite),
    (Perl, &["rename", "move", "copy", "mv", "cp"], Effect::Move),
    (Perl, &["getstore", "getprint", "get"], Effect::Fetch),
    (Perl, &["connect", "inet_aton", "IO.Socket.INET.new"], Effect::Connect),
    (Perl, &["eval"], Effect::Code),
    (Perl, &["glob", "bsd_glob", "abs_path"], Effect::Same),
    (Perl, &["decode_base64"], Effect::Decode(Decoder::Base64)),
    (Perl, &["reverse"], Effect::Decode(Decoder::Reverse)),
    (Perl, &["pack"], Effect::Decode(Decoder::Named)),
    (Perl, &["join"], Effect::Join),
    (Perl, &["chr"], Effect::Characters),
    // Ruby.
    (
        Ruby,
        &[
            "system",
            "exec",
            "spawn",
            "Process.spawn",
            "IO.popen",
            "Open3.capture2",
            "Open3.capture2e",
            "Open3.capture3",
            "Open3.popen3",
            "PTY.spawn",
        ],
        Effect::Argv,
    ),
    (
        Ruby,
        &[
            "File.delete",
            "File.unlink",
            "Dir.rmdir",
            "Dir.delete",
            "Dir.unlink",
            "FileUtils.rm",
            "FileUtils.rm_f",
            "FileUtils.rmdir",
            "FileUtils.remove",
            "FileUtils.safe_unlink",
            "FileUtils.remove_file",
        ],
        Effect::Remove,
    ),
    (
        Ruby,
        &[
            "FileUtils.rm_r",
            "FileUtils.rm_rf",
            "FileUtils.rmtree",
            "FileUtils.remove_dir",
            "FileUtils.remove_entry",
            "FileUtils.remove_entry_secure",
        ],
        Effect::RemoveTree,
    ),
    (Ruby, &["open", "File.open", "File.new", "IO.open"], Effect::Open),
    (Ruby, &["File.read", "File.readlines", "IO.read", "File.binread", "File.foreach"], Effect::Read),
    (Ruby, &["File.write", "IO.write", "File.binwrite", "File.truncate"], Effect::Overwrite),
    (
        Ruby,
        &[
            "File.rename",
            "FileUtils.mv",
            "FileUtils.cp",
            "FileUtils.cp_r",
            "FileUtils.move",
            "FileUtils.copy",
        ],
        Effect::Move,
    ),
    (
        Ruby,
        &[
            "Net.HTTP.get",
            "Net.HTTP.get_response",
            "Net.HTTP.post_form",
            "Net.HTTP.start",
            "URI.open",
            "HTTParty.get",
            "RestClient.get",
            "Faraday.get",
        ],
        Effect::Fetch,
    ),
    (Ruby, &["TCPSocket.open", "TCPSocket.new"], Effect::Connect),
    (Ruby, &["eval", "instance_eval", "class_eval"], Effect::Code),
    (
        Ruby,
        &["File.expand_path", "Dir.glob", "URI", "URI.parse", "Pathname.new", "Pathname", "Array"],
        Effect::Same,
    ),
    (
        Ruby,
        &["Base64.decode64", "Base64.strict_decode64", "Base64.urlsafe_decode64"],
        Effect::Decode(Decoder::Base64),
    ),
    (Ruby, &["Zlib.inflate", "Zlib.Inflate.inflate", "Marshal.load"], Effect::Decode(Decoder::Unknown)),
    (Ruby, &["File.join"], Effect::JoinPath),
    (Ruby, &["Dir.home"], Effect::Home),
    // PHP.
    (Php, &["system", "exec", "shell_exec", "passthru", "popen", "proc_open", "pcntl_exec"], Effect::Line),
    (Php, &["unlink", "rmdir"], Effect::Remove),
    (Php, &["fopen"], Effect::Open),
    (Php, &["file_get_contents", "readfile", "file"], Effect::Read),
    (Php, &["file_put_contents", "ftruncate"], Effect::Overwrite),
    (Php, &["rename", "copy"], Effect::Move),
    (Php, &["curl_init"], Effect::Fetch),
    (Php, &["fsockopen", "pfsockopen", "stream_socket_client", "socket_connect"], Effect::Connect),
    (Php, &["eval", "assert", "create_function"], Effect::Code),
    (Php, &["realpath", "trim", "strval", "glob"], Effect::Same),
    (Php, &["base64_decode"], Effect::Decode(Decoder::Base64)),
    (Php, &["hex2bin"], Effect::Decode(Decoder::Hex)),
    (Php, &["urldecode", "rawurldecode"], Effect::Decode(Decoder::Percent)),
    (Php, &["str_rot13"], Effect::Decode(Decoder::Rot13)),
    (Php, &["strrev"], Effect::Decode(Decoder::Reverse)),
    (Php, &["gzinflate", "gzuncompress", "gzdecode", "unserialize"], Effect::Decode(Decoder::Unknown)),
    (Php, &["implode", "join"], Effect::Join),
    (Php, &["chr"], Effect::Characters),
    // Lua and awk.
    (Lua, &["os.execute", "io.popen"], Effect::Line),
    (Lua, &["os.remove"], Effect::Remove),
    (Lua, &["os.rename"], Effect::Move),
    (Lua, &["io.open"], Effect::Open),
    (Lua, &["load", "loadstring", "dofile"], Effect::Code),
    (Lua, &["socket.connect"], Effect::Connect),
    (Lua, &["require"], Effect::Module),
    (Lua, &["string.char"], Effect::Characters),
    (Lua, &["string.reverse"], Effect::Decode(Decoder::Reverse)),
    (Awk, &["system"], Effect::Line),
    (AppleScript, &["do_shell_script"], Effect::Line),
    // R, Julia, Elixir and Groovy.
    (R, &["system", "shell"], Effect::Line),
    (R, &["system2"], Effect::Spawn),
    (R, &["unlink"], Effect::RemoveBySetting),
    (R, &["file.remove"], Effect::Remove),
    (R, &["source"], Effect::Read),
    (Julia, &["run"], Effect::Line),
    (Julia, &["rm", "Base.rm"], Effect::RemoveBySetting),
    (Elixir, &["System.shell"], Effect::Line),
    (Elixir, &["System.cmd"], Effect::Spawn),
    (Elixir, &["File.rm_rf"], Effect::RemoveTree),
    (Elixir, &["File.rm", "File.rmdir"], Effect::Remove),
    (Elixir, &["File.write"], Effect::Overwrite),
    (Elixir, &["Code.eval_string"], Effect::Code),
];

/// Methods of values whose kind does not matter, by language and name.
const METHODS: &[(Language, &[&str], Effect)] = &[
    (Python, &["connect"], Effect::Connect),
    (Node, &["connect"], Effect::Connect),
    (Php, &["connect"], Effect::Connect),
    (Lua, &["connect"], Effect::Connect),
    (Perl, &["system"], Effect::Argv),
    // `ctypes.CDLL(None).system(…)`
    (Python, &["system"], Effect::Line),
    (Python, &["execute", "executescript", "executemany", "execute_sql"], Effect::Statement),
    (Node, &["query", "execute", "run", "exec", "$executeRawUnsafe", "raw"], Effect::Statement),
    (Ruby, &["execute", "query", "exec_query", "execute_batch"], Effect::Statement),
    (Php, &["query", "exec", "multi_query"], Effect::Statement),
    (Perl, &["do", "prepare"], Effect::Statement),
];

/// Methods of paths: the path is the receiver.
const PATH_METHODS: &[(&str, Effect)] = &[
    ("unlink", Effect::Remove),
    ("rmdir", Effect::Remove),
    ("delete", Effect::Remove),
    ("rmtree", Effect::RemoveTree),
    ("deleteDir", Effect::RemoveTree),
    ("write_text", Effect::Overwrite),
    ("write_bytes", Effect::Overwrite),
    ("touch", Effect::Write),
    ("read_text", Effect::Read),
    ("read_bytes", Effect::Read),
    ("open", Effect::Open),
    ("rename", Effect::Move),
    ("replace", Effect::Move),
];

/// What calling the function of this full name does.
pub(super) fn effect(language: Language, name: &str) -> Option<Effect> {
    let last = name.rsplit('.').next().unwrap_or(name);
    // The functions of Perl and PHP are known without their modules; those of Ruby's Kernel need none.
    let short = match language {
        Perl | Php => last,
        Ruby => name.strip_prefix("Kernel.").unwrap_or(name),
        // `__import__('urllib.request')` is the package, and not the module in it.
        Python if name.starts_with("urllib.request.request.") => {
            name.get("urllib.request.".len()..).unwrap_or(name)
        }
        Python => name.strip_prefix("builtins.").unwrap_or(name),
        Node | Awk | Lua | AppleScript | R | Julia | Elixir | Groovy => {
            name.strip_prefix("globalThis.").unwrap_or(name)
        }
    };
    let is_row = |row: &&(Language, &[&str], Effect)| {
        row.0 == language && (row.1.contains(&short) || row.1.contains(&name))
    };
    CALLS.iter().find(is_row).map(|row| row.2)
}

/// What calling a method of this name does, whatever its receiver.
pub(super) fn method(language: Language, name: &str) -> Option<Effect> {
    METHODS.iter().find(|row| row.0 == language && row.1.contains(&name)).map(|row| row.2)
}

/// What calling a method of a path does.
pub(super) fn path_method(name: &str) -> Option<Effect> {
    PATH_METHODS.iter().find(|row| row.0 == name).map(|row| row.1)
}

/// Constructors of paths, whose methods [`path_method`] knows.
pub(super) fn makes_path(name: &str) -> bool {
    matches!(name, "pathlib.Path" | "pathlib.PosixPath" | "Path" | "Pathname.new" | "Pathname" | "File")
}

/// Interpreter names by language; versions are cut off before.
pub(super) const PROGRAMS: &[(&str, Language)] = &[
    ("python", Python),
    ("pypy", Python),
    ("ipython", Python),
    ("perl", Perl),
    ("ruby", Ruby),
    ("jruby", Ruby),
    ("node", Node),
    ("nodejs", Node),
    ("deno", Node),
    ("bun", Node),
    ("tsx", Node),
    ("ts-node", Node),
    ("php", Php),
    ("awk", Awk),
    ("gawk", Awk),
    ("mawk", Awk),
    ("nawk", Awk),
    ("lua", Lua),
    ("luajit", Lua),
    ("osascript", AppleScript),
    ("rscript", R),
    ("julia", Julia),
    ("elixir", Elixir),
    ("groovy", Groovy),
];
