# Makes a git repository of the working directory, with one commit of its whole content.
#
# The content is not trusted and must not influence git. So git works in a new `.git` that is
# made here, and reads only the configuration that it writes there itself. A
# `.gitattributes` can name filters, but none is defined. Of the user's configuration, only the name and
# address of the author and the name of the first branch are used. $GIT is git's path.

set -eu
: "${GIT:?git was not found in PATH}"
here=$(pwd -P)

# Fails if `.git` exists, whatever it is.
if ! mkdir .git 2>/dev/null; then
    echo "there is a .git already, or none can be made: nothing was initialized or committed" >&2
    exit 3
fi
undo() {
    cd "$here" && rm -rf .git
}
trap undo EXIT

export GIT_DIR="$here/.git" GIT_WORK_TREE="$here" GIT_TERMINAL_PROMPT=0 GIT_ATTR_NOSYSTEM=1

ours() {
    GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null "$GIT" \
        -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.attributesFile=/dev/null \
        -c core.pager=cat -c core.editor=: -c commit.gpgSign=false -c maintenance.auto=false \
        -c gc.auto=0 -c submodule.recurse=false -c diff.ignoreSubmodules=all \
        -c advice.addEmbeddedRepo=false "$@"
}
# A value of the user's own configuration, including the parts that apply only to this directory.
users() {
    "$GIT" config --includes --get "$1" || true
}

branch=$("$GIT" config --global --get init.defaultBranch || true)
ours init --quiet --template= --initial-branch="${branch:-master}"

name=${GIT_AUTHOR_NAME:-$(users user.name)}
email=${GIT_AUTHOR_EMAIL:-${EMAIL:-$(users user.email)}}
if [ -z "$name" ] || [ -z "$email" ]; then
    echo "git knows no user.name or no user.email: set both with git config --global" >&2
    exit 4
fi
# To detect whether the file system keeps modes, git changes a mode. In confinement this has no effect.
[ -x .git/HEAD ] || ours config core.fileMode true

ours add .
export GIT_AUTHOR_NAME="$name" GIT_AUTHOR_EMAIL="$email"
export GIT_COMMITTER_NAME="${GIT_COMMITTER_NAME:-$name}" GIT_COMMITTER_EMAIL="${GIT_COMMITTER_EMAIL:-$email}"
ours commit --quiet --allow-empty --no-verify -m "Initial commit"
trap - EXIT
