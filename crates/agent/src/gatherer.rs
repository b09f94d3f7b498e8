//! The effect of gathering what the model should know from outside the conversation: mentioned files, instructions for
//! files that were touched, what hooks have said.

use crate::Options;
use conversation::{Conversation, HookRunner, MainMachine, Memories, Mentions, SettingsFiles};
use options::compact_at;
use std::rc::Rc;
use turn::{Change, Gather, Gathered};

pub struct Gatherer {
    pub options: Rc<Options>,
    pub memories: Rc<Memories>,
    pub mentions: Rc<Mentions>,
    pub hooks: Rc<HookRunner>,
    pub settings: Rc<SettingsFiles>,
    pub machine: Rc<MainMachine>,
}

impl Gatherer {
    pub async fn gather(&self, conversation: &Conversation, what: Gather) -> Gathered {
        match what {
            Gather::InstructionsLoaded => {
                self.memories.tell(conversation).await;
                Gathered::default()
            }
            Gather::AfterPrompt { mentions } => {
                let attachments = match mentions {
                    Some(text) => self.mentions.attachments(conversation, &text).await,
                    None => Vec::new(),
                };
                let reminders = self.memories.follow(conversation).await;
                Gathered { attachments, reminders, late: self.hooks.take_finished() }
            }
            Gather::BeforeAsking => {
                self.settings.look(conversation).await;
                // A skill or the client may have chosen a model with another window.
                self.machine.set(Change::CompactAt(compact_at(&self.options, &conversation.model())));
                Gathered { late: self.hooks.take_reminders(), ..Gathered::default() }
            }
            Gather::Messages => Gathered { late: conversation.take_mail(), ..Gathered::default() },
            Gather::AfterCalls => {
                Gathered { reminders: self.memories.follow(conversation).await, ..Gathered::default() }
            }
        }
    }
}
