//! What the drawn model calls, and the hooks and servers around it, most of them badly behaved.

use crate::dice::Dice;
use serde_json::{Value, json};

/// Long enough that only being ended explains its absence.
const FOR_EVER: &str = "sleep 97";

/// A call of the model.
pub fn call(dice: &mut Dice, has_server: bool) -> Value {
    let (name, input) = match dice.below(14) {
        0 => ("Bash", command("echo out; echo err >&2; exit 3")),
        1 => ("Bash", command("kill -9 $$")),
        2 => ("Bash", command("head -c 300000 /dev/zero | tr '\\0' x")),
        3 => ("Bash", command("sleep 0.3; echo slept")),
        // Wants to outlive everything: a session of its own, deaf to signals, its parent gone.
        4 => ("Bash", command(&format!("(setsid sh -c 'trap \"\" TERM INT HUP; exec {FOR_EVER}' &) ; echo off"))),
        5 => ("Bash", command(&format!("{FOR_EVER} & {FOR_EVER} >/dev/null 2>&1 & echo two"))),
        6 => ("Bash", json!({"command": "sleep 0.2; echo late", "run_in_background": true, "description": "d"})),
        7 => ("Write", json!({"file_path": "$WD/new.txt", "content": "text\n".repeat(dice.below(2000))})),
        8 => ("Read", json!({"file_path": "$WD/none.txt"})),
        9 => ("Grep", json!({"pattern": "("})),
        10 => ("Agent", json!({"description": "d", "prompt": "p", "subagent_type": "general-purpose"})),
        11 | 12 if has_server => ("mcp__srv__echo", json!({"text": "hi"})),
        _ => ("Bash", command("echo ok")),
    };
    json!({"type": "tool_use", "name": name, "input": input})
}

fn command(command: &str) -> Value {
    json!({"command": command, "description": "d"})
}

/// Settings with a hook that does something wrong.
pub fn settings(dice: &mut Dice) -> Value {
    let event = *dice.pick(&["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop"]);
    let command = *dice.pick(&[
        "exit 1",
        "kill -9 $$",
        "echo '{\"not\": json'",
        "exec <&-; exit 0",
        "cat >/dev/null; sleep 97",
        "sleep 97 & exit 0",
        "setsid sh -c 'trap \"\" TERM; sleep 97' >/dev/null 2>&1 & exit 0",
        "head -c 200000 /dev/zero | tr '\\0' y",
        "echo '{\"continue\": true}'",
        "cat",
    ]);
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command, "timeout": 1}]}]}})
}

/// A server that serves, dies, falls silent or talks nonsense, at one moment or another.
pub fn servers(dice: &mut Dice) -> Value {
    let moment = *dice.pick(&["initialize", "tools/list", "tools/call", "never", "never"]);
    let end = *dice.pick(&["exit 1", "kill -9 $$", "sleep 97", "echo nonsense; exit 0", "exec 1>&-; sleep 97"]);
    let start = *dice.pick(&["", "", "", "exit 1", "sleep 97", "echo '{}'; echo garbage"]);
    let script = format!(
        r#"{start}
        answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
        while read -r line; do
          id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
          case $line in *'"{moment}"'*) {end};; esac
          case $line in
            *'"initialize"'*) answer '{{"protocolVersion":"2025-03-26","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"srv","version":"1"}}}}';;
            *'"tools/list"'*) answer '{{"tools":[{{"name":"echo","description":"d","inputSchema":{{"type":"object"}}}}]}}';;
            *'"tools/call"'*) answer '{{"content":[{{"type":"text","text":"echoed"}}]}}';;
            *'"id"'*) answer '{{}}';;
          esac
        done"#
    );
    json!({"mcpServers": {"srv": {"command": "/bin/sh", "args": ["-c", script]}}})
}
