import { JobPriority } from "../../../domain/jobs/job.ts"
import { SelectField, TextField } from "../../shared/Field.tsx"
import { useSession } from "../session/SessionContext.ts"
import type { TaskFields } from "./forms.ts"

type Fields = Pick<TaskFields, "priority" | "concurrency">

/** Fields of a task's priority (`high` is for managers) and of its concurrency key. */
export const WhenToRun = ({
  fields: { concurrency, priority },
  mistake,
  onChange,
}: {
  readonly fields: Fields
  readonly mistake: string | undefined
  readonly onChange: (change: Partial<Fields>) => void
}) => {
  const { owner } = useSession()
  return (
    <>
      <SelectField
        id="task-priority"
        label="Priority"
        hint="Jobs with a higher priority begin first."
        short
        value={priority}
        options={JobPriority.literals.flatMap((name) => (name === "high" && !owner.changes ? [] : [[name, name]]))}
        onChange={(priority) => onChange({ priority })}
      />
      <TextField
        id="task-concurrency"
        label="Concurrency key (optional)"
        hint="Jobs with the same key run one after another."
        mistake={mistake}
        value={concurrency}
        onText={(concurrency) => onChange({ concurrency })}
      />
    </>
  )
}
