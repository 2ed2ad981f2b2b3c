import { useState } from "preact/hooks"
import type { Job } from "../../../client/gateway/GatewayJobs.ts"
import { moment } from "../../shared/format.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import type { JobUpdate } from "./jobState.ts"
import { Problem } from "../View.tsx"

type Asked = NonNullable<Job["question"]>

/** An answer to begin with: the required members, empty. */
const draftOf = ({ answer_schema }: Asked): string => {
  const { required } = answer_schema
  const names = Array.isArray(required) ? required.map(String) : []
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, null])), undefined, 2)
}

const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const QuestionForm = ({
  id,
  onAnswered,
  question,
}: {
  readonly id: string
  readonly question: Asked
  readonly onAnswered: (job: Job) => void
}) => {
  const { gateway } = useSession()
  const { busy, failure, run } = useAction()
  const [text, setText] = useState(() => draftOf(question))
  const answer = parsed(text)
  const send = (event: Event) => {
    event.preventDefault()
    if (answer === undefined) return
    run(() => gateway.jobs.input(id, answer.value, { step: question.step }), onAnswered)
  }
  return (
    <form class="card stack" aria-labelledby="question-title" onSubmit={send}>
      <h3 id="question-title">The agent asks</h3>
      <p class="plain">{question.question}</p>
      <details>
        <summary>Schema of the answer</summary>
        <pre>{JSON.stringify(question.answer_schema, undefined, 2)}</pre>
      </details>
      <label>
        Answer, as JSON
        <textarea
          rows={6}
          spellcheck={false}
          value={text}
          aria-invalid={answer === undefined}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {answer === undefined && <p class="note warn small">This is not JSON yet.</p>}
      {failure !== undefined && <Problem failure={failure} />}
      <p class="small muted">Without an answer the job goes on at {moment(question.deadline)}.</p>
      <div>
        <button type="submit" aria-disabled={busy || answer === undefined}>
          {busy ? "Sending…" : "Answer"}
        </button>
      </div>
    </form>
  )
}

/** The question that a job waits for, with a form for its answer; nothing if there is none. */
export const Question = ({ hear, job }: { readonly job: Job; readonly hear: (update: JobUpdate) => void }) =>
  job.question === undefined ? null : (
    <QuestionForm
      key={job.question.step}
      id={job.id}
      question={job.question}
      onAnswered={(job) => hear({ type: "read", job })}
    />
  )
