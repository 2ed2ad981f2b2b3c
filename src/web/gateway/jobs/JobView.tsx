import { useLayoutEffect } from "preact/hooks"
import type { Job, Step } from "../../../client/GatewayJobs.ts"
import { isEnded } from "../../../domain/job.ts"
import type { JobResult } from "../../../domain/verdict.ts"
import { excerpt, fraction } from "../../shared/format.ts"
import { failureOf } from "../failure.ts"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Loading, Problem, View } from "../View.tsx"
import { adversarialResult, debateOf, verifiedResult } from "./debate.ts"
import { DebateRounds } from "./DebateRounds.tsx"
import { JobFacts } from "./JobFacts.tsx"
import { stepsOf, taskText } from "./jobState.ts"
import { Badge, MEANING, STATUS, VERDICT } from "./looks.tsx"
import { endOf } from "./steps.ts"
import { StepTable } from "./StepTable.tsx"
import { useJob } from "./useJob.ts"
import { Verification } from "./Verification.tsx"

/** The final answer, and how far the models stand behind it. */
const Answer = ({ result }: { readonly result: JobResult }) => {
  const measure =
    "confidence" in result
      ? { name: "The judge's confidence", value: fraction(result.confidence) }
      : { name: "Agreement of the samples", value: fraction(result.agreement) }
  return (
    <section class="card stack arriving" aria-labelledby="answer-title">
      <div class="view-head">
        <h3 id="answer-title">Answer</h3>
        <Badge look={VERDICT[result.verdict]} what="Verdict" />
      </div>
      <p class="plain final">{result.answer}</p>
      <p class="small muted">
        {MEANING[result.verdict]} {measure.name}: <strong>{measure.value}</strong> (uncalibrated).
      </p>
      {result.note !== undefined && <p class="note warn small">{result.note}</p>}
    </section>
  )
}

/** Says what happens to the job, as it happens. */
const useNews = (job: Job | undefined, steps: ReadonlyArray<Step>) => {
  const { announce } = useSession()
  const status = job?.status
  useLayoutEffect(() => {
    if (status !== undefined) announce(`The job is ${STATUS[status].word}.`)
  }, [status])
  useLayoutEffect(() => {
    const last = steps.at(-1)
    if (last !== undefined && status !== undefined && !isEnded(status)) announce(endOf(last))
    // A step that is done again has the name of the one that failed.
  }, [steps.length])
}

export const JobView = ({ id }: { readonly id: string }) => {
  const { gateway } = useSession()
  const { failure, hear, retry, state } = useJob(id)
  const { busy, failure: refused, run } = useAction()
  const job = state?.job
  const steps = state === undefined ? [] : stepsOf(state)
  useNews(job, steps)

  if (job === undefined) {
    return (
      <View title="Job">
        {failure === undefined ? <Loading what="the job" /> : <Problem failure={failure} onRetry={retry} />}
        <p>
          <a href={hrefOf({ view: "jobs" })}>All jobs</a>
        </p>
      </View>
    )
  }
  const ended = isEnded(job.status)
  const debate = adversarialResult(job)
  const verified = verifiedResult(job)
  const task = taskText(job.task)
  const cancel = () =>
    run(
      () => gateway.jobs.cancel(id),
      (job) => hear({ type: "read", job }),
    )

  return (
    <View
      title={excerpt(task, 120)}
      actions={
        <>
          <Badge look={STATUS[job.status]} what="Status" />
          {!ended && (
            <button type="button" aria-disabled={busy} onClick={cancel}>
              {busy ? "Cancelling…" : "Cancel"}
            </button>
          )}
        </>
      }
    >
      {failure !== undefined && <Problem failure={failure} onRetry={retry} />}
      {refused !== undefined && <Problem failure={refused} />}
      {job.problem !== undefined && <Problem failure={failureOf(job.problem)} />}
      <div class="with-aside">
        <div class="stack">
          {job.result !== undefined && <Answer result={job.result} />}
          {job.mode === "adversarial" && (
            <DebateRounds debate={debateOf(steps, debate)} result={debate} ended={ended} />
          )}
          {verified !== undefined && <Verification result={verified} />}
        </div>
        <JobFacts job={job} task={task} />
      </div>
      <StepTable steps={steps} running={!ended} />
      <details class="card">
        <summary>The job as JSON</summary>
        <pre>{JSON.stringify(job, undefined, 2)}</pre>
      </details>
    </View>
  )
}
