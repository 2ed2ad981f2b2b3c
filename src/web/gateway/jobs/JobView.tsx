import { useLayoutEffect } from "preact/hooks"
import type { Job, Step } from "../../../client/gateway/GatewayJobs.ts"
import { isEnded } from "../../../domain/jobs/job.ts"
import { type JobResult, verdictMeaning } from "../../../domain/jobs/modes.ts"
import { excerpt, fraction } from "../../shared/format.ts"
import { requestOf } from "../agents/forms.ts"
import { failureOf } from "../failure.ts"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Problem, Unloaded, View } from "../View.tsx"
import { DebateRounds } from "./adversarial/DebateRounds.tsx"
import { Deliveries } from "./Deliveries.tsx"
import { JobFacts } from "./JobFacts.tsx"
import { type JobUpdate, stepsOf, taskText, underWay } from "./jobState.ts"
import { Badge, STATUS, verdictBadge } from "./badges.tsx"
import { Question } from "./Question.tsx"
import { Receipts } from "./Receipts.tsx"
import { endOf } from "./steps.ts"
import { StepTable } from "./StepTable.tsx"
import { comparedFor } from "./verdict.ts"
import { useJob } from "./useJob.ts"
import { Verification } from "./verified/Verification.tsx"

/** The details of a mode besides its answer. A new built-in mode adds its part here. */
const Course = ({
  ended,
  job,
  steps,
}: {
  readonly job: Job
  readonly steps: ReadonlyArray<Step>
  readonly ended: boolean
}) => {
  const { result } = job
  switch (job.mode) {
    case "adversarial":
      return <DebateRounds steps={steps} result={result?.mode === "adversarial" ? result : undefined} ended={ended} />
    case "verified":
      return result?.mode === "verified" ? <Verification result={result} /> : null
    default:
      return null
  }
}

/** The final answer with its verdict and confidence. */
const Answer = ({ result }: { readonly result: JobResult }) => (
  <section class="card stack arriving" aria-labelledby="answer-title">
    <div class="view-head">
      <h3 id="answer-title">Answer</h3>
      <Badge look={verdictBadge(result)} what="Verdict" />
    </div>
    <p class="plain final">{result.answer}</p>
    <p class="small">{verdictMeaning(result).meaning}</p>
    <p class="small muted">
      {comparedFor(result)} Confidence in the answer: <strong>{fraction(result.confidence)}</strong>.
    </p>
    {result.mode === "own" && result.output !== undefined && (
      <pre class="small">{JSON.stringify(result.output, null, 2)}</pre>
    )}
    {result.note !== undefined && <p class="note warn small">{result.note}</p>}
  </section>
)

/** Announces status changes and finished steps to screen readers. */
const useNews = (job: Job | undefined, steps: ReadonlyArray<Step>) => {
  const { announce } = useSession()
  const status = job?.status
  useLayoutEffect(() => {
    if (status !== undefined) announce(`The job is ${STATUS[status].word}.`)
  }, [status])
  useLayoutEffect(() => {
    const last = steps.at(-1)
    if (last !== undefined && job !== undefined && !isEnded(job.status)) announce(endOf(job.mode, last))
    // Counted, because a repeated step has the same name as the failed one.
  }, [steps.length])
}

/** The reason why the last attempt failed, while the job goes on. */
const LastFailure = ({ job, step: { problem } }: { readonly job: Job; readonly step: Step }) =>
  problem === undefined ? null : (
    <div class="note warn">
      <p>
        <strong>The last attempt failed: {problem.title}</strong>{" "}
        {job.status === "queued" ? `Attempt ${job.attempt} follows by itself.` : `This is attempt ${job.attempt}.`}
      </p>
      {problem.detail !== undefined && <p>{problem.detail}</p>}
    </div>
  )

interface ActionsProps {
  readonly job: Job
  readonly hear: (update: JobUpdate) => void
  /** Follows the job again. */
  readonly retry: () => void
  readonly action: ReturnType<typeof useAction>
}

const Actions = ({ action: { busy, run }, hear, job, retry }: ActionsProps) => {
  const { gateway, owner } = useSession()
  const { agent_id, id, status } = job
  const cancel = () =>
    run(
      () => gateway.jobs.cancel(id),
      (job) => hear({ type: "read", job }),
    )
  const resume = () =>
    run(
      () => gateway.jobs.resume(id),
      (job) => {
        hear({ type: "read_after_end", job })
        retry()
      },
    )
  const runAgain = () =>
    run(
      () => gateway.agents.execute(agent_id, requestOf(job, owner)),
      ({ id }) => {
        location.hash = hrefOf({ view: "job", id })
      },
    )
  if (!owner.runs) return null
  if (!isEnded(status)) {
    return (
      <button type="button" aria-disabled={busy} onClick={cancel}>
        {busy ? "Cancelling…" : "Cancel"}
      </button>
    )
  }
  return (
    <>
      {(status === "failed" || status === "timed_out") && (
        <button type="button" aria-disabled={busy} title="Goes on after the finished steps" onClick={resume}>
          Resume
        </button>
      )}
      <button type="button" aria-disabled={busy} title="Makes a new job with the same task" onClick={runAgain}>
        {busy ? "Starting…" : "Run again"}
      </button>
    </>
  )
}

export const JobView = ({ id }: { readonly id: string }) => {
  const { failure, hear, retry, state } = useJob(id)
  const action = useAction()
  const job = state?.job
  const steps = state === undefined ? [] : stepsOf(state)
  useNews(job, steps)

  if (job === undefined || state === undefined) {
    return (
      <View title="Job">
        <Unloaded loaded={{ failure, reload: retry, value: job }} what="the job" />
        <p>
          <a href={hrefOf({ view: "jobs" })}>All jobs</a>
        </p>
      </View>
    )
  }
  const ended = isEnded(job.status)
  const last = steps.at(-1)
  const task = taskText(job.task)

  return (
    <View
      title={excerpt(task, 120)}
      actions={
        <>
          <Badge look={STATUS[job.status]} what="Status" />
          <Actions job={job} hear={hear} retry={retry} action={action} />
        </>
      }
    >
      {failure !== undefined && <Problem failure={failure} onRetry={retry} />}
      {action.failure !== undefined && <Problem failure={action.failure} />}
      {job.problem !== undefined && <Problem failure={failureOf(job.problem)} />}
      {!ended && last !== undefined && <LastFailure job={job} step={last} />}
      <div class="with-aside">
        <div class="stack">
          <Question job={job} hear={hear} />
          {job.result !== undefined && <Answer result={job.result} />}
          <Course job={job} steps={steps} ended={ended} />
          <StepTable job={job} steps={steps} begun={underWay(state)} texts={state.texts} />
          {ended && <Receipts job={job} />}
          {(ended || job.question !== undefined) && <Deliveries job={job} />}
        </div>
        <JobFacts job={job} task={task} />
      </div>
      <details class="card">
        <summary>The job as JSON</summary>
        <pre>{JSON.stringify(job, undefined, 2)}</pre>
      </details>
    </View>
  )
}
