//! The commands of `ralph goal` in words.

pub const GOAL_HELP: &str = "ralph goal: goals for 'ralph work'

  ralph goal add TEXT | -f FILE   a goal in this repository and branch, or with --repo and --base
  ralph goal import FILE          a goal for each checkbox or heading of plan.md, story of prd.json, issue of issues.jsonl
  ralph goal list [--all]         goals that are not over, or all; --state STATE, --label LABEL
  ralph goal show N               where a goal stands
  ralph goal log N [-f]           what happened to it; -f follows
  ralph goal diff N               what it changed
  ralph goal comment N TEXT       tell its agent something
  ralph goal attach N FILE…       give its agent files
  ralph goal answer N TEXT        answer what it asks
  ralph goal retry N              try again what failed, waits or was cancelled
  ralph goal cancel N             stop it
  ralph goal queue N              let a draft be worked on
  ralph goal edit N [options]     change it
  ralph goal budget [SCOPE USD]   what may be spent: all, repo:PATH, label:NAME; --tokens N, --remove

Options of add, import and edit:
  --title TEXT           what lists show (the first line of the text)
  --repo PATH|URL        the repository (this one)
  --base BRANCH          the branch that the work starts from and goes to (the current one)
  --after N              only when goal N is done; repeatable
  --check COMMAND        must pass before done counts, and again before landing; repeatable
  --label NAME           repeatable
  --attach FILE          repeatable
  --priority N           higher first (0)
  --attempts N           before it counts as failed (3)
  --model M  --reasoning R  --backend B  --max-iterations N  --duration SPAN
  --max-cost USD  --max-tokens N         of the goal
  --iteration-cost USD  --iteration-tokens N
  --land branch|push|pr  leave ralph/goal-N for a person (default), move the branch, or open a pull request
  --squash               one commit
  --review[=BACKEND:MODEL]  another agent looks at it before it lands
  --draft                not to be worked on yet
  --key TEXT             the same key makes no second goal
  --trust                with --repo URL: let agents work in it on their own

All commands take --json. RALPH_STORE=postgres://… is a store for many machines; without it, a file of yours.
";
