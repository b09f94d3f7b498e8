//! The groups of control requests, each with the handles that it needs.

use super::{Base, Changers};
use crate::control::aside::AsideRequests;
use crate::control::files::FileRequests;
use crate::control::initialize::Initialize;
use crate::control::permissions::PermissionRequests;
use crate::control::reload::ReloadRequests;
use crate::control::server_access::ServerAccessRequests;
use crate::control::servers::ServerRequests;
use crate::control::session::SessionRequests;
use crate::control::settings::SettingsRequests;
use crate::control::tasks::TaskRequests;
use crate::control::turns::TurnRequests;
use crate::control::usage::UsageRequests;
use crate::control::workspace::WorkspaceRequests;
use crate::control::{Group, Requests};
use crate::model_asker::ModelAsker;
use conversation::{Conversation, MainMachine};
use std::rc::Rc;
use tools::Checkpoints;

pub(super) fn requests(
    base: &Base,
    changers: &Changers,
    machine: &Rc<MainMachine>,
    main: &Rc<Conversation>,
    checkpoints: &Rc<Checkpoints>,
    model: &Rc<ModelAsker>,
) -> Rc<Requests> {
    let groups: Vec<Rc<dyn Group>> = vec![
        Rc::new(Initialize {
            options: Rc::clone(&base.options),
            choices: Rc::clone(&base.choices),
            hooks: Rc::clone(&base.hooks),
            servers: Rc::clone(&base.servers),
            transcripts: Rc::clone(&base.transcripts),
            models: Rc::clone(&changers.models),
        }),
        Rc::new(TurnRequests { machine: Rc::clone(machine) }),
        Rc::new(PermissionRequests {
            options: Rc::clone(&base.options),
            rules: Rc::clone(&base.rules),
            updates: Rc::clone(&changers.updates),
            hooks: Rc::clone(&base.hooks),
            machine: Rc::clone(machine),
        }),
        Rc::new(SettingsRequests {
            options: Rc::clone(&base.options),
            choices: Rc::clone(&base.choices),
            models: Rc::clone(&changers.models),
            flags: Rc::clone(&changers.flags),
        }),
        Rc::new(UsageRequests {
            options: Rc::clone(&base.options),
            choices: Rc::clone(&base.choices),
            servers: Rc::clone(&base.servers),
            memories: Rc::clone(&base.memories),
            main: Rc::clone(main),
            ledger: Rc::clone(&base.ledger),
        }),
        Rc::new(ServerRequests { servers: Rc::clone(&base.servers) }),
        Rc::new(ServerAccessRequests {
            servers: Rc::clone(&base.servers),
            rules: Rc::clone(&base.rules),
            main: Rc::clone(main),
            secrets: base.secrets.clone(),
        }),
        Rc::new(WorkspaceRequests {
            options: Rc::clone(&base.options),
            main: Rc::clone(main),
            machine: Rc::clone(machine),
            secrets: base.secrets.clone(),
        }),
        Rc::new(TaskRequests {
            options: Rc::clone(&base.options),
            secrets: base.secrets.clone(),
            tasks: base.resources.tasks.clone(),
        }),
        Rc::new(FileRequests {
            rules: Rc::clone(&base.rules),
            main: Rc::clone(main),
            secrets: base.secrets.clone(),
            checkpoints: Rc::clone(checkpoints),
        }),
        Rc::new(ReloadRequests {
            options: Rc::clone(&base.options),
            choices: Rc::clone(&base.choices),
            hooks: Rc::clone(&base.hooks),
            servers: Rc::clone(&base.servers),
        }),
        Rc::new(SessionRequests {
            options: Rc::clone(&base.options),
            output: Rc::clone(&base.output),
            transcripts: Rc::clone(&base.transcripts),
        }),
        Rc::new(AsideRequests {
            choices: Rc::clone(&base.choices),
            machine: Rc::clone(machine),
            model: Rc::clone(model),
            transcripts: Rc::clone(&base.transcripts),
        }),
    ];
    let (output, hooks) = (Rc::clone(&base.output), Rc::clone(&base.hooks));
    Rc::new(Requests { output, hooks, machine: Rc::clone(machine), groups })
}
