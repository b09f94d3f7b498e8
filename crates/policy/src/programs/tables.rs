//! Programs that read files, and the simple ones that write: their options and what their operands are.

use super::effects::{Arg, Effects};
use super::options::{Parsed, Style, parse};
use super::{special, text_tables};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// There must be none.
    None,
    /// Text, not files. A pattern among them shows the names in a folder.
    Text,
    Files,
    /// Files, or the working folder if there are none.
    FilesOrCwd,
    /// The second one would be written.
    OneFile,
    /// Text to search for, or a program of its own, then files.
    PatternAndFiles,
    PatternAndFilesOrCwd,
    /// Files and folders that are made, changed or removed.
    Written,
}

pub(super) struct Program {
    pub(super) names: &'static [&'static str],
    pub(super) options: &'static [&'static str],
    pub(super) operands: Operands,
    pub(super) style: Style,
    /// Goes through folders without being told to.
    pub(super) tree: bool,
    /// What the table cannot say: whether these options and operands are fine together.
    pub(super) check: fn(&Parsed) -> bool,
}

/// Every program of the tables answers these, and does nothing else then.
pub(super) const ABOUT: &str = "--help --version";

pub(super) const PLAIN: Style = Style { ordered: false, number: false, whole: false };
pub(super) const NUMBER: Style = Style { number: true, ..PLAIN };
pub(super) const ORDERED: Style = Style { ordered: true, ..PLAIN };

pub(super) const fn program(
    names: &'static [&'static str],
    operands: Operands,
    options: &'static [&'static str],
) -> Program {
    Program { names, options, operands, style: PLAIN, tree: false, check: |_| true }
}

use Operands::{Files, FilesOrCwd, OneFile, PatternAndFiles, PatternAndFilesOrCwd, Written};

const LS: &str = "-a --all -A --almost-all --author -b --escape --block-size= -B --ignore-backups -c -C --color[=] \
    -d --directory -D --dired -f -F --classify[=] --file-type --format= --full-time -g --group-directories-first -G \
    --no-group -h --human-readable --si -H:follows --dereference-command-line:follows \
    --dereference-command-line-symlink-to-dir:follows --hide= --hyperlink[=] --indicator-style= -i --inode -I= \
    --ignore= -k --kibibytes -l -L:follows --dereference:follows -m -n --numeric-uid-gid -N --literal -o -p -q \
    --hide-control-chars --show-control-chars -Q --quote-name --quoting-style= -r --reverse -R:tree \
    --recursive:tree -s --size -S --sort= --time= --time-style= -t -T= --tabsize= -u -U -v -w= --width= -x -X -Z \
    --context --zero -1";

const DU: &str = "-0 --null -a --all --apparent-size -B= --block-size= -b --bytes -c --total -D:follows \
    --dereference-args:follows -d= --max-depth= -H:follows -h --human-readable --inodes -k -L:follows \
    --dereference:follows -l --count-links -m -P --no-dereference -S --separate-dirs --si -s --summarize -t= \
    --threshold= --time[=] --time-style= -X=:read --exclude-from=:read --exclude= -x --one-file-system";

const GREP: &str = "-E --extended-regexp -F --fixed-strings -G --basic-regexp -P --perl-regexp -e=:pattern \
    --regexp=:pattern -f=:read,pattern --file=:read,pattern -i -y --ignore-case --no-ignore-case -w --word-regexp -x \
    --line-regexp -z --null-data -s --no-messages -v --invert-match -V -m= --max-count= -b --byte-offset -n \
    --line-number --line-buffered -H --with-filename -h --no-filename --label= -o --only-matching -q --quiet --silent \
    --binary-files= -a --text -I -d=:tree --directories=:tree -D= --devices= -r:tree --recursive:tree \
    -R:tree,follows --dereference-recursive:tree,follows --include= --exclude= --exclude-from=:read --exclude-dir= -L \
    --files-without-match -l --files-with-matches -c --count -T --initial-tab -Z --null -B= --before-context= -A= \
    --after-context= -C= --context= --group-separator= --no-group-separator --color[=] --colour[=] -U --binary";

const RG: &str = "-A= --after-context= -B= --before-context= -C= --context= --binary --no-binary --block-buffered -b \
    --byte-offset -s --case-sensitive --color= --colors= --column --no-column --context-separator= -c --count \
    --count-matches --crlf --dfa-size-limit= -E= --encoding= --engine= --field-context-separator= \
    --field-match-separator= -f=:read,pattern --file=:read,pattern --files:pattern -l --files-with-matches \
    --files-without-match -F --fixed-strings -L:follows --follow:follows -g= --glob= --glob-case-insensitive --heading \
    --no-heading -. --hidden --no-hidden --iglob= -i --ignore-case --ignore-file=:read --include-zero -v \
    --invert-match --json --line-buffered -n --line-number -N --no-line-number -x --line-regexp -M= --max-columns= \
    --max-columns-preview -m= --max-count= -d= --max-depth= --max-filesize= --mmap --no-mmap -U --multiline \
    --multiline-dotall --no-config -I --no-filename --no-ignore --no-ignore-dot --no-ignore-exclude \
    --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages \
    --no-unicode -0 --null --null-data --one-file-system -o --only-matching --passthru --path-separator= -P --pcre2 \
    -p --pretty -q --quiet --regex-size-limit= -e=:pattern --regexp=:pattern -r= --replace= -S --smart-case --sort= \
    --sortr= --stats -a --text -j= --threads= --trim -t= --type= --type-add= --type-clear= --type-list:pattern -T= \
    --type-not= -u --unrestricted --vimgrep -H --with-filename -w --word-regexp";

const DIFF: &str = "--normal -q --brief -s --report-identical-files -c -C= --context[=] -u -U= --unified[=] -e --ed -n \
    --rcs -y --side-by-side -W= --width= --left-column --suppress-common-lines -p --show-c-function -F= \
    --show-function-line= --label= -L= -t --expand-tabs -T --initial-tab --tabsize= --suppress-blank-empty -r \
    --recursive --no-dereference -N --new-file --unidirectional-new-file --ignore-file-name-case \
    --no-ignore-file-name-case -x= --exclude= -X=:read --exclude-from=:read -S= --starting-file= --from-file=:read \
    --to-file=:read -i --ignore-case -E --ignore-tab-expansion -Z --ignore-trailing-space -b --ignore-space-change -w \
    --ignore-all-space -B --ignore-blank-lines -I= --ignore-matching-lines= -a --text --strip-trailing-cr -d \
    --minimal --horizon-lines= --speed-large-files --color[=] --palette=";

const SORT: &str = "-b --ignore-leading-blanks -d --dictionary-order -f --ignore-case -g --general-numeric-sort -i \
    --ignore-nonprinting -M --month-sort -h --human-numeric-sort -n --numeric-sort -R --random-sort \
    --random-source=:read -r --reverse --sort= -V --version-sort --batch-size= -c --check[=] -C --debug -k= --key= -m \
    --merge -s --stable -S= --buffer-size= -t= --field-separator= --parallel= -u --unique -z --zero-terminated";

const TREE: &str = "-a -d -f -x -i -q -N -Q -p -u -g -s -h -D -F -v -t -c -U -r -n -C -A -S -J -X -L= -P= -I= \
    --noreport --dirsfirst --filesfirst --filelimit[=] --prune --du --si --inodes --device --matchdirs --ignore-case \
    --sort[=] --timefmt[=] --metafirst --gitignore";

const FILE: &str = "-b --brief -e= --exclude= --exclude-quiet= -F= --separator= -i --mime --apple --extension \
    --mime-type --mime-encoding -k --keep-going -L --dereference -h --no-dereference -n --no-buffer -N --no-pad -0 \
    --print0 -P= --parameter= -r --raw -v";

/// `-l` of `diff` starts `pr`, `-m` and `-C` of `file` and `-f` name other files, `-c` of the checksums reads a list
/// of files, `-R` and `-o` of `tree` write: they are absent.
pub(super) const READERS: [Program; 24] = [
    program(&["ls"], FilesOrCwd, &[LS]),
    Program { tree: true, ..program(&["du"], FilesOrCwd, &[DU]) },
    program(
        &["df"],
        Files,
        &["-a --all -B= --block-size= -h --human-readable -H --si -i --inodes -k -l --local --no-sync --output[=] -P \
           --portability --total -t= --type= -T --print-type -x= --exclude-type= -v"],
    ),
    Program { style: NUMBER, ..program(&["grep", "egrep", "fgrep"], PatternAndFiles, &[GREP]) },
    Program { tree: true, ..program(&["rg"], PatternAndFilesOrCwd, &[RG]) },
    Program { tree: true, ..program(&["diff"], Files, &[DIFF]) },
    program(&["sort"], Files, &[SORT]),
    Program { tree: true, ..program(&["tree"], FilesOrCwd, &[TREE]) },
    program(&["file"], Files, &[FILE]),
    program(
        &["cat"],
        Files,
        &[
            "-A --show-all -b --number-nonblank -e -E --show-ends -n --number -s --squeeze-blank -t -T --show-tabs -u -v \
           --show-nonprinting",
        ],
    ),
    Program {
        style: NUMBER,
        ..program(
            &["head"],
            Files,
            &["-c= --bytes= -n= --lines= -q --quiet --silent -v --verbose -z --zero-terminated"],
        )
    },
    Program {
        style: NUMBER,
        ..program(
            &["tail"],
            Files,
            &["-c= --bytes= -f --follow[=] -F -n= --lines= --max-unchanged-stats= --pid= -q --quiet --silent --retry \
               -s= --sleep-interval= -v --verbose -z --zero-terminated"],
        )
    },
    program(&["wc"], Files, &["-c --bytes -m --chars -l --lines -L --max-line-length -w --words"]),
    program(&["stat"], Files, &["-L --dereference -f --file-system --cached= -c= --format= --printf= -t --terse"]),
    program(
        &["readlink"],
        Files,
        &["-f --canonicalize -e --canonicalize-existing -m --canonicalize-missing -n --no-newline -q --quiet -s \
           --silent -v --verbose -z --zero"],
    ),
    program(
        &["realpath"],
        Files,
        &["-e --canonicalize-existing -m --canonicalize-missing -L --logical -P --physical -q --quiet \
           --relative-to=:read --relative-base=:read -s --strip --no-symlinks -z --zero"],
    ),
    program(&["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum"], Files, &[SUM]),
    program(&["b2sum"], Files, &[SUM, "-l= --length="]),
    program(&["cksum"], Files, &["-a= --algorithm= -l= --length= --tag --untagged -z --zero --debug"]),
    program(&["sum"], Files, &["-r -s --sysv"]),
    program(&["base64", "base32"], Files, &["-d --decode -i --ignore-garbage -w= --wrap="]),
    Program {
        style: Style { ordered: true, whole: true, number: false },
        ..program(&["xxd"], OneFile, &["-a -b -C -c= -E -e -g= -i -l= -n= -o= -p -ps -d -s= -u"])
    },
    Program {
        check: special::jq_filter,
        ..program(
            &["jq"],
            PatternAndFiles,
            &["-c --compact-output -n --null-input -e --exit-status -s --slurp -r --raw-output -j --join-output -a \
               --ascii-output -R --raw-input -C --color-output -M --monochrome-output -S --sort-keys --tab --indent= \
               --stream --seq --unbuffered --arg= --argjson= -h"],
        )
    },
    program(
        &["cmp"],
        Files,
        &["-b --print-bytes -i= --ignore-initial= -l --verbose -n= --bytes= -s --quiet --silent -v"],
    ),
];

const SUM: &str = "-b --binary --tag -t --text -z --zero";

/// The programs of `acceptEdits`. `-p` of `rmdir` removes folders that are not named; it is absent.
pub(super) const WRITERS: [Program; 4] = [
    program(&["mkdir"], Written, &["-m= --mode= -p --parents -v --verbose"]),
    Program {
        check: special::names_no_zone,
        ..program(
            &["touch"],
            Written,
            &["-a -c --no-create -d= --date= -f -h --no-dereference -m -r=:read --reference=:read -t= --time="],
        )
    },
    program(
        &["rm"],
        Written,
        &[
            "-f --force -i -I --interactive[=] --one-file-system --preserve-root[=] -r:tree -R:tree --recursive:tree -d \
           --dir -v --verbose",
        ],
    ),
    program(&["rmdir"], Written, &["--ignore-fail-on-non-empty -v --verbose"]),
];

pub(super) fn all() -> impl Iterator<Item = &'static Program> {
    READERS.iter().chain(&text_tables::PROGRAMS).chain(&WRITERS)
}

pub(super) fn find(name: &str) -> Option<&'static Program> {
    all().find(|program| program.names.contains(&name))
}

impl Program {
    pub(super) fn effects(&self, args: &[Arg]) -> Option<Effects> {
        let pairs = if self.names == ["jq"] { special::join_pairs(args)? } else { args.to_vec() };
        let tables: Vec<&'static str> = self.options.iter().copied().chain([ABOUT]).collect();
        let mut parsed = parse(&tables, self.style, &pairs)?;
        if !(self.check)(&parsed) {
            return None;
        }
        let mut effects = Effects {
            reads: std::mem::take(&mut parsed.reads),
            tree: self.tree || parsed.tree,
            follows: parsed.follows || (self.names == ["diff"] && !parsed.has("--no-dereference")),
            ..Effects::default()
        };
        self.place_operands(&parsed, &mut effects)?;
        Some(effects)
    }

    fn place_operands(&self, parsed: &Parsed, effects: &mut Effects) -> Option<()> {
        let operands = parsed.operands.iter().map(|arg| (*arg).clone());
        let patterns = usize::from(!parsed.pattern);
        match self.operands {
            Operands::None if !parsed.operands.is_empty() => return None,
            Operands::None => {}
            Operands::Text => effects.reads.extend(operands.filter(|arg| arg.glob)),
            Files => effects.reads.extend(operands),
            FilesOrCwd => {
                effects.cwd = parsed.operands.is_empty();
                effects.reads.extend(operands);
            }
            OneFile => {
                if parsed.operands.len() > 1 || parsed.operands.iter().any(|arg| arg.glob) {
                    return None;
                }
                effects.reads.extend(operands);
            }
            PatternAndFiles | PatternAndFilesOrCwd => {
                let named = parsed.operands.len().saturating_sub(patterns);
                effects.cwd = named == 0 && (self.operands == PatternAndFilesOrCwd || effects.tree);
                // A pattern of the shell in the first place becomes the text and files after it.
                let files = operands.enumerate().filter(|(at, arg)| *at >= patterns || arg.glob);
                effects.reads.extend(files.map(|(_, arg)| arg));
            }
            Written => effects.writes.extend(operands),
        }
        Some(())
    }
}
