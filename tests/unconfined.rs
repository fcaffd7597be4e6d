//! Tests of programs on a system without confinement. On Linux, a seccomp filter makes the kernel refuse Landlock to the
//! host, like a kernel that does not support it.

use serde_json::json;

use crate::support::home::{Home, Ran};
use crate::support::{stand_in, windows};

/// Runs commands of the host without confinement of files.
fn unconfined<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    if windows::wine().is_some() {
        return run();
    }
    // The filter applies to this thread and to the processes that it starts.
    let there = || {
        refuse_landlock();
        run()
    };
    std::thread::scope(|scope| scope.spawn(there).join()).expect("see above")
}

/// A system that is not Linux has no Landlock anyway.
#[cfg(not(target_os = "linux"))]
fn refuse_landlock() {}

#[cfg(target_os = "linux")]
fn refuse_landlock() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    /// The numbers of `landlock_create_ruleset`, `landlock_add_rule` and `landlock_restrict_self`, and `ENOSYS`.
    const CALLS: [i64; 3] = [444, 445, 446];
    const UNKNOWN: u32 = 38;
    let rules = CALLS.into_iter().map(|call| (call, Vec::new())).collect();
    let this = std::env::consts::ARCH.try_into().expect("a processor that seccomp knows");
    let refuse = SeccompAction::Errno(UNKNOWN);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, this).expect("a filter");
    let filter: BpfProgram = filter.try_into().expect("a filter");
    seccompiler::apply_filter(&filter).expect("the kernel has seccomp");
}

/// A home whose plugin may run the command `shell`. `allowed`: the first line of the configuration.
fn home(allowed: &str) -> Home {
    let home = Home::new();
    home.install("runner");
    home.configure(&format!(
        "{allowed}\nroots = [\"$FILES\"]\n[host]\nbundled = false\n\
         [commands.shell]\nprogram = {:?}\nargs = [\"nothing\"]\n\
         [plugins.runner.grants.files]\naccess = \"read\"\n\
         [plugins.runner.grants.process]\ncommands = [\"shell\"]\n",
        stand_in()
    ));
    home
}

fn call(home: &Home) -> Ran {
    let with = json!({"directory": home.file(""), "command": "shell"}).to_string();
    unconfined(|| home.run(&["call", "run", &with]))
}

#[test]
fn without_confinement_a_command_runs_only_if_the_operator_allows_it() {
    let strict = home("");
    let refused = call(&strict);
    let lines = "unconfined-commands = [\"shell\"]";
    assert!(refused.stdout.contains(lines), "{refused:?}");
    assert!(!refused.stdout.contains("stdio, http or sse?"), "{refused:?}");
    let asks = strict.audit();
    assert!(asks.iter().any(|record| record["outcome"] == "not-confined"), "{asks:#?}");
    let checked = unconfined(|| strict.run(&["check"]));
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.stdout.contains(lines), "{checked:?}");
    assert!(checked.stdout.contains("this system cannot confine programs: `shell`"), "{checked:?}");
    let open = home(lines);
    let ran = call(&open);
    assert!(ran.stdout.contains("stdio, http or sse?"), "it ran: {ran:?}");
    let checked = unconfined(|| open.run(&["check"]));
    assert!(
        checked.stdout.contains("it could reach everything that the user can reach"),
        "{checked:?}"
    );
    assert!(!checked.stdout.contains("unconfined-commands"), "{checked:?}");
}

#[test]
fn a_confined_upstream_server_is_not_started_without_confinement() {
    let check = |confine: &str| {
        let home = Home::new();
        home.configure(&format!(
            "[host]\nbundled = false\n[upstreams.held]\ncommand = {:?}\nargs = [\"stdio\"]\n{confine}\n",
            stand_in()
        ));
        unconfined(|| home.run(&["check"]))
    };
    let refused = check("[upstreams.held.confine]");
    assert!(refused.stdout.contains("remove `[upstreams.held.confine]`"), "{refused:?}");
    let started = check("");
    assert!(started.stdout.contains("upstream `held`, tools:"), "{started:?}");
}

#[test]
fn only_commands_that_exist_can_be_allowed_to_run_unconfined() {
    let checked = home("unconfined-commands = [\"shel\"]").run(&["check"]);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    assert!(
        checked.stderr.contains("`unconfined-commands`: `shel` is not a command"),
        "{checked:?}"
    );
}
