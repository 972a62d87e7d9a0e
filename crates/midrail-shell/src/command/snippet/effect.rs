//! What a function of another language does.

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
    /// As the `spawn` family of C: a mode, a program, then its arguments from the zeroth on.
    Spawned,
    /// Removes files.
    Remove,
    /// Removes folders with all that lies in them.
    RemoveTree,
    /// Removes; a setting `recursive` decides how much.
    RemoveBySetting,
    /// Walks through all that lies below a folder: the folder, its folders and its files.
    Walk,
    /// Hands all that lies below its later arguments to the function of its first.
    Search,
    /// The names of what lies in a folder.
    Listing,
    /// What the program reads.
    Input,
    /// The folder that a path lies in.
    Parent,
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
    /// Moves its first argument to its second.
    Move,
    /// Copies its first argument to its second.
    Copy,
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
    /// Joins parts of a path, of which the last that begins at the root counts.
    ResolvePath,
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
