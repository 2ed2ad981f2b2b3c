import type { BegunCall, Job, Step } from "../../../client/gateway/GatewayJobs.ts"
import { isEnded } from "../../../domain/jobs/job.ts"
import { stepLabel } from "../../../domain/jobs/modes.ts"
import { Table } from "../../shared/Table.tsx"
import { usd } from "../../../domain/routing/dollars.ts"
import { between, count, duration, moment } from "../../shared/format.ts"
import { Badge, STATUS } from "./badges.tsx"
import { timeline } from "./steps.ts"
import { waitingWords } from "./waiting.ts"

const BAR = { width: 72, height: 10 }

/** Draws a step on the job's time line. Hidden from screen readers, because the table has the figures. */
const Span = ({ length, offset }: { readonly offset: number; readonly length: number }) => (
  <svg class="span" width={BAR.width} height={BAR.height} aria-hidden="true">
    <rect class="span-whole" width={BAR.width} height={BAR.height} rx="3" />
    <rect
      class="span-part"
      x={Math.min(offset * BAR.width, BAR.width - 2)}
      width={Math.max(2, length * BAR.width)}
      height={BAR.height}
      rx="3"
    />
  </svg>
)

/** The line below the steps of an open job. */
const nextOf = ({ status, waiting }: Job): string => {
  if (waiting !== undefined) return `The next step waits ${waitingWords(waiting)}.`
  return status === "running" ? "The next step is running…" : "The next step follows the answer to the question."
}

/** The steps with model, duration, tokens and cost, and those in progress. */
export const StepTable = ({
  begun,
  job,
  steps,
  texts,
}: {
  readonly begun: ReadonlyArray<BegunCall>
  readonly texts: ReadonlyMap<string, string>
  readonly steps: ReadonlyArray<Step>
  readonly job: Job
}) => {
  const { mode, status } = job
  const spans = timeline(steps)
  return (
    <section class="card stack" aria-labelledby="steps-title">
      <h3 id="steps-title">Steps</h3>
      {steps.length > 0 && (
        <Table
          label="Table of steps"
          columns={[
            "Step",
            "Model",
            "When",
            ...["Took", "Tokens in", "Tokens out", "Cost"].map((name) => [name, "number"] as const),
          ]}
        >
          {steps.map((step, i) => (
            // Keyed by index, because a failed step and its repetition have the same name.
            <tr key={i} class="arriving">
              <td>
                {stepLabel(mode, step)}
                {step.status === "failed" && (
                  <>
                    {" "}
                    <Badge look={STATUS.failed} />
                    {step.problem !== undefined && <p class="small why">{step.problem.title}</p>}
                  </>
                )}
              </td>
              <td class="nowrap">
                {step.model ?? step.tool?.name ?? "none"}
                {step.provider !== null && <span class="small muted block">{step.provider}</span>}
              </td>
              <td>
                <Span {...(spans[i] ?? { offset: 0, length: 1 })} />
              </td>
              <td class="number">{duration(between(step.started_at, step.finished_at))}</td>
              <td class="number">{step.usage === null ? "unknown" : count(step.usage.input_tokens)}</td>
              <td class="number">{step.usage === null ? "unknown" : count(step.usage.output_tokens)}</td>
              <td class="number">{usd(step.cost_micro_usd)}</td>
            </tr>
          ))}
        </Table>
      )}
      {!isEnded(status) &&
        (begun.length === 0 ? (
          <p class="muted pulse">{nextOf(job)}</p>
        ) : (
          begun.map((step) => (
            <div key={`${step.name} ${step.started_at}`}>
              <p class="muted pulse">
                {stepLabel(mode, step)} is running: {"model" in step ? step.model : step.tool}, since{" "}
                {moment(step.started_at)}
              </p>
              {texts.has(step.name) && <p class="plain">{texts.get(step.name)}</p>}
            </div>
          ))
        ))}
      {isEnded(status) && steps.length === 0 && <p class="muted">It ended before its first step.</p>}
    </section>
  )
}
