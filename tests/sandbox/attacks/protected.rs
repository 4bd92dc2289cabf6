//! Names in the workspace that make later programs run code, and our own home.

use super::Sign::{If, Said};
use super::{Attack, But, Sign, attack, python};

const CONFIG: Sign = If("grep -q evil $WS/.git/config");
const SUB_CONFIG: Sign = If("grep -q evil $SUB/.git/config");
/// The workspace becomes a work tree of a repository outside.
const WORK_TREE: &str = "rm -rf .git && git init -q $OUT/main && git -C $OUT/main -c user.name=a -c user.email=a@b commit -q --allow-empty -m m \
    && git -C $OUT/main worktree add -q $OUT/tree && mv $OUT/tree/.git .git && echo $WS/.git > $OUT/main/.git/worktrees/tree/gitdir";
/// A pointer to a repository, as a submodule has.
const MODULE: &str = "mkdir -p .git/modules/m module && git init -q --bare .git/modules/m && echo gitdir: ../.git/modules/m > module/.git";

/// A repository of somebody else.
const REPOSITORY_OUTSIDE: &str = "mkdir -p $OUT/.git/hooks && echo theirs > $OUT/.git/config && echo theirs > $OUT/.git/hooks/theirs && echo ref: x > $OUT/.git/HEAD";

#[rustfmt::skip] // One row an attack.
pub fn attacks() -> Vec<Attack> {
    vec![
        attack("git-config", "echo '# evil' >> .git/config", CONFIG),
        attack("git-config-command", "git config core.fsmonitor evil", CONFIG),
        attack("git-config-rename-over", "echo evil > c && mv c .git/config", CONFIG),
        attack("git-config-hard-link", "ln .git/config l && echo evil >> l", CONFIG),
        attack("git-hook", "echo evil > .git/hooks/pre-commit", If("test -e $WS/.git/hooks/pre-commit")),
        attack("git-hook-chmod-mv", "mv .git/hooks .git/h && mkdir .git/hooks && echo evil > .git/hooks/x", If("test -e $WS/.git/hooks/x")),
        attack("git-moved-away", "mv .git g && mkdir .git && echo evil > .git/config", CONFIG),
        attack("git-symlink-swap", "mv .git g && mkdir e && echo evil > e/config && ln -s e .git", CONFIG),
        attack("git-upper-parent", "mv $WS $WS-2 && mkdir -p $WS/.git && echo evil > $WS/.git/config", CONFIG),
        attack("git-umount", "umount .git; umount -l .git; echo evil >> .git/config", CONFIG),
        attack("git-common-dir", "echo $OUT > .git/commondir", If("test -e $WS/.git/commondir")),
        attack("own-config-planted", "mkdir .openinterpreter; echo evil > .openinterpreter/config.toml", If("grep -q evil $WS/.openinterpreter/config.toml")),
        attack("agents-planted", "mkdir -p .agents/skills; echo evil > .agents/skills/x", If("test -e $WS/.agents/skills/x")),
        attack("codex-planted-by-rename", "mkdir -p c && echo evil > c/config.toml && rmdir .codex; mv c .codex", If("grep -q evil $WS/.codex/config.toml")),
        attack("codex-planted-as-link", "rmdir .codex; mkdir c && echo evil > c/config.toml && ln -s c .codex", If("grep -q evil $WS/.codex/config.toml")),
        attack("git-config-chmod", "chmod 666 .git/config", If("test $(stat -c %a $WS/.git/config) = 666")),
        attack("git-removed", "rm -rf .git", If("! test -e $WS/.git/config")),
        attack("git-worktree-config", "echo evil > .git/config.worktree", If("test -e $WS/.git/config.worktree")),
        attack("git-attributes", "mkdir -p .git/info && echo '* filter=evil' > .git/info/attributes", If("test -e $WS/.git/info/attributes")),
        attack("git-template", "mkdir -p t/hooks && echo evil > t/hooks/pre-commit && git init -q --template=t .", If("test -e $WS/.git/hooks/pre-commit")),
        attack("git-hook-replaced", "echo evil > .git/hooks/sample", If("grep -q evil $WS/.git/hooks/sample")),
        attack("git-hook-mode", "chmod +x .git/hooks/sample", If("test -x $WS/.git/hooks/sample")),
        attack("git-exchanged", python!("os.mkdir('e');open('e/config','w').write('evil');libc.renameat2(-100,b'e',-100,b'.git',2)"), CONFIG),
        attack("git-unmounted-in-namespace", "unshare -rm sh -c 'umount -l .git; echo evil >> .git/config'", CONFIG),
        attack("git-remounted", "mount -o remount,rw,bind .git; echo evil >> .git/config", CONFIG),
        attack("git-through-old-folder", "cd /proc/self/cwd/.git && echo evil >> config", CONFIG),
        attack("git-head", "echo evil > .git/HEAD", If("grep -q evil $WS/.git/HEAD")).by(But::Partial),
        attack("git-commit", "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m m", If("ls $WS/.git/refs/heads/* 2>/dev/null | grep -q .")).by(But::Partial),
        attack("work-tree-pointer", "echo 'gitdir: evil' > .git", If("grep -q evil $WS/.git")).with(WORK_TREE),
        attack("work-tree-pointer-moved", "mv .git g; echo 'gitdir: evil' > .git", If("grep -q evil $WS/.git")).with(WORK_TREE),
        attack("work-tree-hook", "echo evil > $OUT/main/.git/hooks/pre-commit", If("test -e $OUT/main/.git/hooks/pre-commit")).with(WORK_TREE),
        attack("submodule-pointer", "echo 'gitdir: evil' > module/.git", If("grep -q evil $WS/module/.git")).with(MODULE),
        attack("submodule-config", "echo evil > .git/modules/m/config", If("grep -q evil $WS/.git/modules/m/config")).with(MODULE),
        attack("nested-config", "cd nested && git config core.fsmonitor evil", SUB_CONFIG),
        attack("nested-config-written", "echo '# evil' >> nested/.git/config", SUB_CONFIG),
        attack("nested-hook", "echo evil > nested/.git/hooks/pre-commit", If("test -e $SUB/.git/hooks/pre-commit")),
        attack("nested-hooks-moved", "mv nested/.git/hooks nested/.git/h; mkdir nested/.git/hooks; echo evil > nested/.git/hooks/x", If("test -e $SUB/.git/hooks/x")),
        attack("nested-git-moved", "mv nested/.git nested/g; mkdir -p nested/.git; cp -r nested/g/* nested/.git; echo evil > nested/.git/config", SUB_CONFIG),
        attack("nested-parent-moved", "mv nested s; mkdir -p nested/.git; echo evil > nested/.git/config", SUB_CONFIG),
        attack("nested-common-dir", "cp -r nested/.git g; echo evil > g/config; echo $WS/g > nested/.git/commondir", If("test -e $SUB/.git/commondir")),
        attack("agents-moved-over", "mkdir -p a/skills && echo evil > a/skills/x; rmdir .agents; mv -T a .agents", If("grep -q evil $WS/.agents/skills/x")),
        attack("own-config-late", "(while ! mkdir .openinterpreter; do sleep 0.01; done; echo evil > .openinterpreter/config.toml) 2>/dev/null & sleep 0.3", If("grep -q evil $WS/.openinterpreter/config.toml")),
        // What puts things back, where nothing can be kept from being changed, must not be led astray.
        attack("parent-linked-elsewhere", "mv nested s; ln -s $OUT nested", If("test -L $SUB || ! grep -q theirs $OUT/.git/config || ! test -e $OUT/.git/hooks/theirs")).with(REPOSITORY_OUTSIDE),
        attack("put-back-name-taken", "echo evil > .git/config; touch .git/.put-back-$PPID", CONFIG),
        attack("aside-name-taken", "rmdir .agents; mkdir -p .agents.untrusted-$PPID/x .agents/skills; echo evil > .agents/skills/x", If("grep -q evil $WS/.agents/skills/x")),
        attack("git-shut", "echo evil > .git/config; chmod 500 .git", If("grep -q evil $WS/.git/config; r=$?; chmod u+w $WS/.git; exit $r")),
        attack("git-hooks-shut", "echo evil > .git/hooks/x; chmod 500 .git/hooks", If("test -e $WS/.git/hooks/x; r=$?; chmod u+w $WS/.git/hooks; exit $r")),
        attack("git-mode", "chmod 777 .git", If("test $(stat -c %a $WS/.git) = 777")),
        attack("git-config-folder", "echo evil > c; rm .git/config; mkdir .git/config", If("! test -f $WS/.git/config")),
        attack("work-tree-of-others", "echo evil > .git/worktrees/tree/commondir", If("grep -q evil $WS/.git/worktrees/tree/commondir")).with("mkdir -p .git/worktrees/tree; echo ../.. > .git/worktrees/tree/commondir"),
        attack("nested-work-tree", "echo evil > nested/.git/worktrees/tree/commondir", If("grep -q evil $SUB/.git/worktrees/tree/commondir")).with("mkdir -p nested/.git/worktrees/tree; echo ../.. > nested/.git/worktrees/tree/commondir"),
        attack("nested-config-linked", "rm nested/.git/config; echo evil > nested/.git/config", SUB_CONFIG).with("mkdir store && mv nested/.git/config store/config && ln -s ../../store/config nested/.git/config"),
        attack("nested-config-behind-link", "echo evil > store/config", SUB_CONFIG).with("mkdir store && mv nested/.git/config store/config && ln -s ../../store/config nested/.git/config"),
        attack("nested-git-linked", "rm nested/.git; mkdir -p nested/.git; echo evil > nested/.git/config", SUB_CONFIG).with("mkdir store && mv nested/.git store/git && ln -s ../store/git nested/.git"),
        attack("bare-config", "git -C bare config core.pager evil", If("grep -q evil $WS/bare/config")).with("git init -q --bare bare"),
        attack("bare-hook", "echo evil > bare/hooks/post-receive", If("test -e $WS/bare/hooks/post-receive")).with("git init -q --bare bare"),
        attack("skill-named-objects", "mkdir .agents/skills/objects; echo evil > .agents/skills/objects/SKILL.md", If("test -e $WS/.agents/skills/objects/SKILL.md")).with("mkdir -p .agents/skills/good; echo x > .agents/skills/good/SKILL.md"),
        attack("agents-like-git", "mkdir -p .agents/skills/x; echo evil > .agents/skills/x/SKILL.md", If("test -e $WS/.agents/skills/x/SKILL.md")).with("mkdir .agents; echo x > .agents/HEAD"),
        // Our own home.
        attack("own-home-write", "echo x > $OWN/config.toml", If("test -e $OWN/config.toml")),
        attack("own-home-key", "grep -q key-in $OWN/auth.json && echo ESCAPED", Said),
        attack("own-home-key-link", "ln -s $OWN l; grep -q key-in l/auth.json && echo ESCAPED", Said),
        attack("own-home-key-through-agent", "grep -q key-in /proc/$VICTIM/root$OWN/auth.json && echo ESCAPED", Said),
        attack("own-home-moved", "mv $OWN $OWN-2 && mkdir $OWN && echo evil > $OWN/config.toml", If("grep -q evil $OWN/config.toml")),
        attack("own-home-output", "echo evil > $OWN/outputs/1.txt", If("grep -q evil $OWN/outputs/1.txt")),
    ]
}
