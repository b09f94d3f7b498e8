//! Programs and builtins of the shell that work on text, numbers or facts about the machine, and filters.

use super::options::Style;
use super::special;
use super::tables::{NUMBER, ORDERED, Operands, PLAIN, Program, program};

use Operands::{Files, OneFile, Text};

const NOTHING: &[&str] = &[""];

/// `wait -p` sets a variable, `date -s` and an operand of `date` set the clock: they are absent.
pub(super) const PROGRAMS: [Program; 33] = [
    program(&["pwd"], Operands::None, &["-L -P"]),
    program(&["true", "false", ":"], Text, NOTHING),
    program(&["exit", "return", "break", "continue", "wait"], Text, NOTHING),
    program(&["sleep"], Text, NOTHING),
    Program {
        style: Style { ordered: true, number: true, ..PLAIN },
        ..program(&["seq"], Text, &["-f= --format= -s= --separator= -w --equal-width"])
    },
    Program { style: ORDERED, ..program(&["basename"], Text, &["-a --multiple -s= --suffix= -z --zero"]) },
    program(&["dirname"], Text, &["-z --zero"]),
    program(&["which"], Text, &["-a"]),
    program(&["type"], Text, &["-a -f -t -p -P"]),
    Program { style: Style { ordered: true, ..PLAIN }, ..program(&["expr"], Text, NOTHING) },
    program(
        &["uname"],
        Operands::None,
        &[
            "-a --all -s --kernel-name -n --nodename -r --kernel-release -v --kernel-version -m --machine -p --processor \
           -i --hardware-platform -o --operating-system",
        ],
    ),
    program(&["nproc"], Operands::None, &["--all --ignore="]),
    program(&["arch", "whoami", "logname", "tty"], Operands::None, NOTHING),
    program(&["uptime"], Operands::None, &["-p --pretty -s --since"]),
    program(&["tr"], Text, &["-c -C --complement -d --delete -s --squeeze-repeats -t --truncate-set1"]),
    Program {
        check: special::date_shows,
        ..program(
            &["date"],
            Text,
            &["-d= --date= --debug -f=:read --file=:read -I[=] --iso-8601[=] -R --rfc-email --rfc-3339= -r=:read \
               --reference=:read -u --utc --universal"],
        )
    },
    program(
        &["cut"],
        Files,
        &["-b= --bytes= -c= --characters= -d= --delimiter= -f= --fields= -n --complement -s --only-delimited \
           --output-delimiter= -z --zero-terminated"],
    ),
    program(&["paste"], Files, &["-d= --delimiters= -s --serial -z --zero-terminated"]),
    program(
        &["join"],
        Files,
        &["-a= -e= -i --ignore-case -j= -o= -t= -v= -1= -2= --check-order --nocheck-order --header -z \
           --zero-terminated"],
    ),
    program(
        &["comm"],
        Files,
        &["-1 -2 -3 --check-order --nocheck-order --output-delimiter= --total -z --zero-terminated"],
    ),
    program(
        &["uniq"],
        OneFile,
        &["-c --count -d --repeated -D --all-repeated[=] -f= --skip-fields= --group[=] -i --ignore-case -s= \
           --skip-chars= -u --unique -z --zero-terminated -w= --check-chars="],
    ),
    program(
        &["nl"],
        Files,
        &["-b= --body-numbering= -d= --section-delimiter= -f= --footer-numbering= -h= --header-numbering= -i= \
           --line-increment= -l= --join-blank-lines= -n= --number-format= -p --no-renumber -s= --number-separator= -v= \
           --starting-line-number= -w= --number-width="],
    ),
    program(&["tac"], Files, &["-b --before -r --regex -s= --separator="]),
    program(&["rev"], Files, NOTHING),
    Program { style: NUMBER, ..program(&["fold"], Files, &["-b --bytes -s --spaces -w= --width="]) },
    Program {
        style: NUMBER,
        ..program(
            &["fmt"],
            Files,
            &[
                "-c --crown-margin -p= --prefix= -s --split-only -t --tagged-paragraph -u --uniform-spacing -w= --width= \
               -g= --goal=",
            ],
        )
    },
    program(
        &["column"],
        Files,
        &["-t --table -n= --table-name= -O= --table-order= -N= --table-columns= -l= --table-columns-limit= -E= \
           --table-noextreme= -d --table-noheadings -e --table-header-repeat -H= --table-hide= -R= --table-right= -T= \
           --table-truncate= -W= --table-wrap= -L --keep-empty-lines -J --json -r= --tree= -i= --tree-id= -p= \
           --tree-parent= -c= --output-width= -o= --output-separator= -s= --separator= -x --fillrows"],
    ),
    program(
        &["od"],
        Files,
        &["-A= --address-radix= --endian= -j= --skip-bytes= -N= --read-bytes= -S= --strings[=] -t= --format= -v \
           --output-duplicates -w[=] --width[=] -a -b -c -d -f -i -l -o -s -x"],
    ),
    program(
        &["hexdump"],
        Files,
        &["-b --one-byte-octal -c --one-byte-char -C --canonical -d --two-bytes-decimal -o --two-bytes-octal -x \
           --two-bytes-hex -L[=] --color[=] -e= --format= -n= --length= -s= --skip= -v --no-squeezing"],
    ),
    Program {
        check: special::no_file_of_words,
        style: NUMBER,
        ..program(
            &["strings"],
            Files,
            &["-a --all -d --data -f --print-file-name -n= --bytes= -t= --radix= -w --include-all-whitespace -o -e= \
               --encoding= -s= --output-separator="],
        )
    },
    Program { style: NUMBER, ..program(&["expand"], Files, &["-i --initial -t= --tabs="]) },
    Program { style: NUMBER, ..program(&["unexpand"], Files, &["-a --all --first-only -t= --tabs="]) },
    program(&["groups"], Text, NOTHING),
];
