//! The real clients against our binary: one test for every acceptance scenario of the client contract.
//!
//! `tests/clients/install` fetches the official Agent SDKs for Python and TypeScript, the ACP adapter and a collector of OpenTelemetry;
//! the scripts beside this file drive them against a scripted model, and each prints one verdict. Clients
//! that write the protocol by hand are played from here (`by_hand`). Without the installed clients the
//! tests that need them say so and pass.
#![expect(clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod by_hand;
mod collected;
mod counted;
mod scripts;

use scripts::{js, play, py};

macro_rules! scenarios {
    ($($name:ident: $($script:expr),+;)+) => {$(
        #[test]
        fn $name() {
            play(&[$($script),+]);
        }
    )+};
}

scenarios! {
    s01_python_one_query: py("talking one_query"), py("talking late_answer");
    s02_typescript_one_query: js("talking oneQuery"), js("talking noPersistence"), js("more prewarmed");
    s06_a_turn_with_tools: py("permissions bypass"), js("permissions bypass");
    s07_a_call_that_no_rule_allows: py("permissions allowed_tools"), js("permissions allowedTools");
    s08_a_client_of_several_rounds: py("talking two_rounds"), js("talking twoRounds"), js("talking origin"), js("more contextOnly");
    s09_resume_and_continue: py("talking resume_and_continue"), js("talking resumeAndContinue");
    s10_the_callback_allows: py("permissions callback_allows"), py("permissions callback_remembers"),
        py("permissions callback_sets_the_mode"), js("permissions callbackAllows"),
        js("permissions callbackAllowsAsIs"),
        py("questions choice"), py("questions plan"), py("questions of_agents"), py("questions answered_by_a_tool");
    s11_the_callback_denies: py("permissions callback_denies"), py("permissions callback_interrupts"),
        py("permissions callback_fails"), js("permissions callbackDenies"), js("permissions callbackInterrupts"),
        js("permissions interruptedQuestion"), js("permissions nobodyAnswers"), py("questions plan_refused");
    s12_partial_messages: py("talking partial_messages"), js("talking partialMessages");
    s13_hooks_of_the_client: py("permissions hooks_deny_and_change"), py("permissions hook_asks"),
        js("permissions hooks"), js("permissions otherHooks"), js("more hookMustAnswer"),
        py("questions hooks_that_stop"), py("questions hooks_that_fail"), py("questions stop_hook_blocks_once");
    s14_servers_in_the_client: py("servers in_process"), py("servers in_process_needs_permission"),
        js("servers inProcess"), js("servers inProcessNeedsPermission");
    s15_max_turns: py("talking max_turns"), js("talking maxTurns");
    s16_api_failures: py("talking api_failures"), py("talking overload_is_retried"), js("talking apiFailure");
    s17_servers_beside_the_client: py("servers on_stdio"), py("servers from_files");
    s18_interrupt: py("talking interrupt"), js("talking interrupt"), js("more interruptTellsWhatWaits");
    s19_system_prompts: py("prompting system_prompts"), js("prompting systemPrompts");
    s20_setting_sources: py("prompting setting_sources"), py("prompting skills"), py("prompting extra_folder"),
        js("more settingsOfTheParent"), js("more environmentOfSettings"), js("more toolSets");
    s21_permission_modes: py("permissions modes"), py("permissions mode_changes_live"), js("permissions modes");
    s22_structured_output: py("prompting structured_output"), py("prompting structured_output_is_corrected"),
        py("prompting structured_output_gives_up"), js("prompting structuredOutput");
    s23_agents: py("prompting agents"), py("prompting large_agents"), py("prompting agents_of_folder_and_flag"),
        js("prompting agents"), js("more mainAgent"), js("more mainAgentOfTheClient");
    s24_forks_and_truncated_resume: py("sessions fork"), py("sessions resume_at"), py("sessions resume_drops_turn"),
        js("sessions fork"), js("sessions dropsTurn");
    s25_a_session_that_is_not_there: py("sessions unknown_session"), js("sessions unknownSession");
    s26_sessions_managed_by_the_sdks: py("sessions managed_by_the_sdk"), py("sessions renamed_while_it_runs"),
        py("sessions subagents_are_found"), py("sessions own_session_id"), js("sessions managedByTheSdk");
    s27_the_acp_adapter: js("acp promptWithPermission"), js("acp permissionRefused"), js("acp cancel"),
        js("acp load"), js("acp modes"), js("acp commandLine"), js("acp plan"), js("acp commands"),
        js("acp agentInTheBackground"), js("acp apiFailure");
    s29_the_github_action: py("commands action");
    s32_models_and_thinking: py("prompting thinking"), py("prompting model_changes_live"),
        py("prompting fallback_model"), js("prompting thinking"), js("prompting models");
    s33_budget: py("talking budget");
    s34_checkpoints: py("sessions rewind"), js("sessions rewind");
    s35_commands: py("commands clear"), py("commands compact"), py("commands unknown_command"),
        py("commands project_command"), py("commands verbatim_prompt"), py("commands local_plugin");
    s36_session_state: py("commands session_state"), py("commands background_agent_is_awaited"),
        py("questions state_while_waiting");
    s37_hook_events: py("commands hook_events");
    s38_session_stores: py("sessions store"), js("sessions store");
    s39_a_clean_run_is_silent: py("talking clean_run_is_silent"), js("talking silence");
    s40_requests_at_any_time: py("servers status_and_switches"), py("servers context_usage"), py("servers stop_task"),
        js("servers setServers"), js("servers requests");
    s41_abort: js("talking abort");
    s42_a_hundred_prompts: js("talking queuedPrompts");
    s45_acp_clients: js("native sdkClient"), js("native acpxExec"), js("native acpxDenied"), js("native acpxSessions");
    s47_the_same_as_the_adapter: js("compare sameAsTheAdapter");
    s48_acp_over_http: js("draft httpClient");
    s46_an_acp_agent_in_the_loop: js("native adapterInTheLoop"), js("native adapterWithoutKey");
    s44_older_clients: py("old claude_code_sdk"), py("old first_agent_sdk"), js("old v0177"), js("old v0291");
}
