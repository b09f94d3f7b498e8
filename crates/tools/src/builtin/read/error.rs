//! Why a file cannot be shown, in words for the model.

/// `path` is the file's, as it was asked for.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum ReadError {
    /// It could not be opened or read at all.
    #[error("{0}")]
    File(String),
    #[error("{path} is larger than {} MB, the most Read takes of this kind of file.", .max >> 20)]
    TooLarge { path: String, max: u64 },
    #[error("{path} is {kind}, which Read cannot show. Use a program for it in Bash (file, xxd, strings, …).")]
    Binary { path: String, kind: &'static str },
    #[error("{0}")]
    TooManyTokens(String),
    #[error("{path} is not a readable {kind}: {cause}.")]
    Unreadable { path: String, kind: &'static str, cause: String },
    #[error("{path} is a broken {kind}.")]
    Broken { path: String, kind: &'static str },
    #[error("{path} is not a notebook: {cause}. Repair it with Bash, for example jq.")]
    NoNotebook { path: String, cause: crate::notebook::NotebookError },
    #[error("{path} is encrypted; ask the user for a copy without password.")]
    Encrypted { path: String },
    #[error("{path} has {total} pages; give `pages`, such as \"1-{whole}\", at most {most} a call.")]
    TooManyPages { path: String, total: u32, whole: u32, most: u32 },
    #[error("{path}: {cause}")]
    Pages { path: String, cause: PagesError },
    #[error("{path}: pages {first}-{last} cannot be cut out: {cause}.")]
    NotCut { path: String, first: u32, last: u32, cause: String },
    #[error("{path}: {} MB of PDF is more than the model takes ({} MB). Ask for fewer pages with `pages`.", .bytes >> 20, .max >> 20)]
    TooMuchPdf { path: String, bytes: usize, max: usize },
}

/// What is wrong with the pages that were asked for.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PagesError {
    #[error("`pages` is {0:?}; it must be a page such as \"3\" or a range such as \"1-5\".")]
    NoRange(String),
    #[error("page {page} does not exist; the file has {total} pages.")]
    PastEnd { page: u32, total: u32 },
    #[error("{asked} pages are more than the {most} of one call.")]
    TooMany { asked: u32, most: u32 },
}
