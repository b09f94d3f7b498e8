//! The prompt of the summariser: old iterations in, one page out.

use cycle::Progress;

pub(crate) fn prompt(earlier: Option<&str>, entries: &[Progress]) -> String {
    let mut text = String::from(
        "Condense the log of an agent that works on this repository in iterations. Keep decisions and their \
         reasons, what was tried and failed, what is finished and what is open. Leave out what the repository \
         itself shows. At most one page. Change nothing. Return it with the StructuredOutput tool as \
         {\"summary\": \"…\"}.\n",
    );
    if let Some(earlier) = earlier.filter(|earlier| !earlier.is_empty()) {
        text.push_str(&format!("\n# The summary so far\n\n{earlier}\n"));
    }
    text.push_str("\n# The iterations since\n\n");
    for entry in entries {
        text.push_str(&format!("{}. {}\n", entry.iteration, entry.text));
    }
    text
}
