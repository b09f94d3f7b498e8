//! Help texts, made from the tables they describe.

use crate::argv::{Arity, FLAGS, Standing};

pub fn ralph() -> String {
    "ralph: a coding agent and the loop around it

  ralph [N] [options]    run the loop, at most N iterations (ralph 1 --help lists the options)
  ralph init             set up a loop here: .ralph/prompt.md, todo.md, config.toml
  ralph resume [RUN]     go on with a run that was stopped
  ralph answer TEXT      answer what a run asks; one that has ended goes on with 'ralph resume'
  ralph --detach …       start a run that goes on by itself when this terminal closes
  ralph attach [RUN]     look at a run that works elsewhere; q leaves it at work
  ralph steer [RUN] TEXT words to the agent of a run that works elsewhere
  ralph pause [RUN]      hold a run after this iteration; 'ralph unpause [RUN]' lets it go on
  ralph stop [RUN]       end a run after this iteration; --now ends it at once
  ralph runs [--json]    what ran here, and what is at work
  ralph show [RUN]       what a run did, iteration by iteration (--json for programs)
  ralph --replay [RUN]   a run again, on the screen
  ralph report [RUN]     a run as one HTML file (-o FILE), or as Markdown (--md), or its screen as SVG (--screen)
  ralph goal …           goals for many loops: add, import, list, show, log, answer, … (ralph goal --help)
  ralph work [--slots N] work on goals until stopped; --drain: until none is left
  ralph board            the goals on a screen
  ralph serve [FOLDER…]  runs, goals and agents over HTTP, with a page (ralph serve --help)
  ralph agent …          the agent; the same as calling this binary as 'claude' (ralph agent --help)
  ralph acp              the agent for editors and other ACP clients, on stdin and stdout (ralph acp --help)
  ralph demo             see a loop mend a failing test, offline, in a scratch folder
  ralph mock SCRIPT      a scripted Messages API on loopback, for rehearsals and tests
  ralph mock --record F  a relay before the real API that writes down what a loop says to it
  ralph link [FOLDER]    put a 'claude' link to this binary on your PATH; never overwrites one
  ralph explain CALL…    which rule of which file decides a call such as 'Bash(git push)'
  ralph trust            let this folder's settings grant permissions
  ralph auth status      which credential is used, and why the others are not
  ralph doctor           what is set up here, and what is wrong with it
  ralph version

Exit codes:
"
    .to_owned()
        + &wire::exit_table()
}

pub fn agent() -> String {
    let mut text = String::from(
        "Usage: claude [options] [prompt]

A headless coding agent. The prompt is an argument, stdin, or both; with --input-format stream-json
prompts are messages on stdin, one JSON object a line.

",
    );
    for flag in FLAGS.iter().filter(|flag| flag.standing == Standing::Works) {
        let short = flag.short.map_or("    ".into(), |letter| format!("-{letter}, "));
        let value = match flag.arity {
            Arity::None => "",
            Arity::One | Arity::Repeat => " <value>",
            Arity::Optional | Arity::Named(_) => " [value]",
            Arity::OptionalInline => "[=value]",
            Arity::Many => " <values…>",
        };
        text.push_str(&format!("  {short}{:<44} {}\n", format!("--{}{value}", flag.name), flag.help));
    }
    text.push_str("\nCommands: auth status [--json|--text], doctor\n\nExit codes:\n");
    text + &wire::exit_table()
}
