//! Commands on a system that cannot confine access to files: they start only if the operator allows it.

use portcullis_confine::{Command, CommandError, Exit};

/// Makes the kernel refuse the calls of Landlock to this process and its children, as a kernel without Landlock does.
#[cfg(target_os = "linux")]
pub fn without_landlock() {
    use seccompiler::{SeccompAction, SeccompFilter};
    let calls = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ];
    let refuse = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let rules = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let this = std::env::consts::ARCH.try_into().expect("a processor that seccomp knows");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, this).expect("a filter");
    let filter: seccompiler::BpfProgram = filter.try_into().expect("a filter");
    seccompiler::apply_filter(&filter).expect("the kernel has seccomp");
}

/// Starts a command, in a process whose system confines no files.
pub async fn check() {
    assert!(!portcullis_confine::confines_files());
    let program = std::env::current_exe().expect("this program");
    let definition = serde_json::json!({"program": program, "args": ["attempt", "nothing"]});
    let command = |may_be_unconfined: bool| {
        let definition = serde_json::from_value(definition.clone()).expect("a definition");
        let command = Command::new("tool", definition, &[]).expect("a command");
        command.allow_unconfined(may_be_unconfined)
    };
    let refused = command(false);
    let error = refused.start(None, &[]).await.err().expect("it is refused");
    assert!(matches!(&error, CommandError::NotConfined(name) if name == "tool"), "{error}");
    assert!(error.to_string().contains("`unconfined-commands = [\"tool\"]`"), "{error}");
    assert!(refused.is_refused() && !refused.reach().contains("no network"), "{}", refused.reach());
    let allowed = command(true);
    assert!(!allowed.is_refused());
    let child = allowed.start(None, &[]).await.expect("it is allowed");
    let output = allowed.finish(child, b"").await.expect("it ends");
    assert_eq!(output.ended, Exit::Exited(0), "{output:?}");
}
