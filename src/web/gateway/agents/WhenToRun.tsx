import { JobPriority } from "../../../domain/jobs/job.ts"
import { Field, fieldProps } from "../../shared/Field.tsx"
import { useSession } from "../session/SessionContext.ts"
import type { TaskFields } from "./forms.ts"

type Fields = Pick<TaskFields, "priority" | "concurrency">

/** Fields of a task's priority, of which `high` is for managers, and of its concurrency key. */
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
      <Field id="task-priority" label="Priority" hint="Jobs with a higher priority begin first.">
        <select
          class="short"
          {...fieldProps("task-priority", undefined)}
          value={priority}
          onChange={({ currentTarget: { value } }) => {
            const chosen = JobPriority.literals.find((name) => name === value)
            if (chosen !== undefined) onChange({ priority: chosen })
          }}
        >
          {JobPriority.literals
            .filter((name) => name !== "high" || owner.changes)
            .map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
        </select>
      </Field>
      <Field
        id="task-concurrency"
        label="Concurrency key (optional)"
        hint="Jobs with the same key run one after another."
        mistake={mistake}
      >
        <input
          type="text"
          autocomplete="off"
          {...fieldProps("task-concurrency", mistake)}
          value={concurrency}
          onInput={({ currentTarget: { value } }) => onChange({ concurrency: value })}
        />
      </Field>
    </>
  )
}
