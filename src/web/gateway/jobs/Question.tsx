import { useRef, useState } from "preact/hooks"
import { parseJson } from "../../../domain/json/json.ts"
import type { Job } from "../../../client/gateway/GatewayJobs.ts"
import { Field, fieldProps, focusMistake, SelectField, TextField } from "../../shared/Field.tsx"
import { moment } from "../../shared/format.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Problem } from "../View.tsx"
import { answerOf, fieldsOf } from "./answerForm.ts"
import type { JobUpdate } from "./jobState.ts"

type OpenQuestion = NonNullable<Job["question"]>
type AnswerField = NonNullable<ReturnType<typeof fieldsOf>>[number]

/** Initial answer: the required members, empty. */
const draftOf = ({ answer_schema: { required } }: OpenQuestion): string =>
  JSON.stringify(
    Object.fromEntries((Array.isArray(required) ? required : []).map((name) => [name, null])),
    undefined,
    2,
  )

const NO_JSON = "This is not JSON yet."
const NONE: ReadonlyMap<string, string> = new Map()

interface InputProps {
  readonly field: AnswerField
  readonly text: string
  readonly mistake: string | undefined
  readonly onChange: (text: string) => void
}

const AnswerInput = ({ field: { choices, hint, kind, name, required }, mistake, onChange, text }: InputProps) => {
  const props = { id: `answer-${name}`, label: required ? name : `${name} (optional)`, hint, mistake, value: text }
  if (kind === "choice") {
    const options = choices.map(([choice]) => [choice, choice] as const)
    return <SelectField short {...props} options={[["", "Choose…"], ...options]} onChange={onChange} />
  }
  const size = kind === "text" ? { rows: 2 } : { inputMode: "decimal" as const }
  return <TextField {...props} {...size} onText={onChange} />
}

const QuestionForm = ({
  id,
  onAnswered,
  question,
}: {
  readonly id: string
  readonly question: OpenQuestion
  readonly onAnswered: (job: Job) => void
}) => {
  const { gateway } = useSession()
  const form = useRef<HTMLFormElement>(null)
  const { busy, failure, run } = useAction()
  const fields = fieldsOf(question.answer_schema)
  // Without fields, the answer is written as JSON.
  const [draft, setDraft] = useState(() => draftOf(question))
  const [draftMistake, setDraftMistake] = useState<string>()
  const [texts, setTexts] = useState(NONE)
  const [mistakes, setMistakes] = useState(NONE)
  const read = () => {
    if (fields !== undefined) {
      const answer = answerOf(fields, texts)
      setMistakes(answer.ok ? NONE : answer.mistakes)
      return answer
    }
    const value = parseJson(draft)
    setDraftMistake(value === undefined ? NO_JSON : undefined)
    return { ok: value !== undefined, value }
  }
  const send = (event: Event) => {
    event.preventDefault()
    const answer = read()
    if (!answer.ok) return focusMistake(form.current)
    run(() => gateway.jobs.input(id, answer.value, { step: question.step }), onAnswered)
  }
  return (
    <form ref={form} class="card stack" aria-labelledby="question-title" noValidate onSubmit={send}>
      <h3 id="question-title">The agent asks</h3>
      <p class="plain">{question.question}</p>
      {fields?.map((field) => (
        <AnswerInput
          key={field.name}
          field={field}
          text={texts.get(field.name) ?? ""}
          mistake={mistakes.get(field.name)}
          onChange={(text) => setTexts((known) => new Map(known).set(field.name, text))}
        />
      ))}
      {fields === undefined && (
        <Field id="answer-json" label="Answer, as JSON" mistake={draftMistake}>
          <textarea
            rows={6}
            spellcheck={false}
            value={draft}
            onInput={({ currentTarget: { value } }) => setDraft(value)}
            {...fieldProps("answer-json", draftMistake !== undefined)}
          />
        </Field>
      )}
      <details>
        <summary>Schema of the answer</summary>
        <pre>{JSON.stringify(question.answer_schema, undefined, 2)}</pre>
      </details>
      {failure !== undefined && <Problem failure={failure} />}
      <p class="small muted">Without an answer the job goes on at {moment(question.deadline)}.</p>
      <div>
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Sending…" : "Answer"}
        </button>
      </div>
    </form>
  )
}

/** The question that a job waits for, with a form for its answer; nothing if there is none. */
export const Question = ({ hear, job }: { readonly job: Job; readonly hear: (update: JobUpdate) => void }) => {
  const { owner } = useSession()
  if (job.question === undefined) return null
  if (!owner.runs) {
    return (
      <section class="card stack tight" aria-labelledby="question-title">
        <h3 id="question-title">The agent asks</h3>
        <p class="plain">{job.question.question}</p>
        <p class="small muted">Your token only reads: someone with the role “run” has to answer.</p>
      </section>
    )
  }
  return (
    <QuestionForm
      key={job.question.step}
      id={job.id}
      question={job.question}
      onAnswered={(job) => hear({ type: "read", job })}
    />
  )
}
