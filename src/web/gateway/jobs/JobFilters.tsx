import { JobStatus } from "../../../domain/jobs/job.ts"
import { BuiltInMode, isBuiltIn, MODES } from "../../../domain/jobs/modes.ts"
import { Field, SelectField } from "../../shared/Field.tsx"
import { STATUS } from "./badges.tsx"

const HOUR = 3_600_000
const SPANS = { "": "at any time", hour: "in the last hour", day: "in 24 hours", week: "in 7 days" }
const SPAN_MS = { hour: HOUR, day: 24 * HOUR, week: 168 * HOUR } as const
type Span = keyof typeof SPAN_MS

/** Which jobs are listed; empty texts choose all. */
export interface JobFilterFields {
  readonly q: string
  readonly agent: string
  readonly mode: string
  readonly status: string
  readonly span: string
  readonly thread: string
}

const isIn = <Name extends string>(known: Readonly<Record<Name, unknown>>, name: string): name is Name =>
  Object.hasOwn(known, name)

export const filterOf = ({ agent, mode, q, span, status, thread }: JobFilterFields, now: number) => ({
  ...(q.trim() !== "" && { q: q.trim() }),
  ...(agent !== "" && { agent_id: agent }),
  ...(thread !== "" && { thread_id: thread }),
  ...(isBuiltIn(mode) && { mode }),
  ...(isIn(STATUS, status) && { status }),
  ...(isIn<Span>(SPAN_MS, span) && { from: new Date(now - SPAN_MS[span]) }),
})

export const JobFilters = ({
  agents,
  fields,
  onChange,
}: {
  readonly fields: JobFilterFields
  readonly agents: ReadonlyMap<string, string> | undefined
  readonly onChange: (changed: Partial<JobFilterFields>) => void
}) => {
  const choice = (name: keyof JobFilterFields, label: string, options: ReadonlyArray<readonly [string, string]>) => (
    <SelectField
      id={`filter-${name}`}
      label={label}
      value={fields[name]}
      options={options}
      onChange={(value) => onChange({ [name]: value })}
    />
  )
  return (
    <search class="card columns thin">
      <Field id="filter-q" label="Search">
        <input
          id="filter-q"
          type="search"
          maxLength={200}
          placeholder="task, id or trace id"
          defaultValue={fields.q}
          onChange={({ currentTarget: { value } }) => onChange({ q: value })}
        />
      </Field>
      {choice("agent", "Agent", [["", "all"], ...(agents ?? [])])}
      {choice("mode", "Mode", [["", "all"], ...BuiltInMode.literals.map((mode) => [mode, MODES[mode].label] as const)])}
      {choice("status", "Status", [
        ["", "all"],
        ...JobStatus.literals.map((status) => [status, STATUS[status].word] as const),
      ])}
      {choice("span", "Created", Object.entries(SPANS))}
    </search>
  )
}
