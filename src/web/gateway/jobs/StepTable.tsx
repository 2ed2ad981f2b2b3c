import type { BegunStep, Step } from "../../../client/gateway/GatewayJobs.ts"
import { type Mode, stepLabel } from "../../../domain/jobs/modes.ts"
import { Columns } from "../../shared/Columns.tsx"
import { usd } from "../../../domain/routing/dollars.ts"
import { between, count, duration, moment } from "../../shared/format.ts"
import { Scroll } from "../../shared/Scroll.tsx"
import { Badge, STATUS } from "./badges.tsx"
import { timeline } from "./steps.ts"

const BAR = { width: 120, height: 10 }

/** When a step was under way, within the whole. The figures beside it say the same. */
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

/** Every step as it begins and as it finishes: who does it, how long it took and what it cost. */
export const StepTable = ({
  begun,
  mode,
  running,
  steps,
}: {
  readonly begun: ReadonlyArray<BegunStep>
  readonly mode: Mode
  readonly steps: ReadonlyArray<Step>
  readonly running: boolean
}) => {
  const spans = timeline(steps)
  return (
    <section class="card stack" aria-labelledby="steps-title">
      <h3 id="steps-title">Steps</h3>
      {steps.length > 0 && (
        <Scroll label="Table of steps">
          <table>
            <Columns
              of={[
                "Step",
                "Model",
                "When",
                ...["Took", "Tokens in", "Tokens out", "Cost"].map((name) => [name, "number"] as const),
              ]}
            />
            <tbody>
              {steps.map((step, i) => (
                // A failed step and its successor have the same name, so steps are told apart by their place.
                <tr key={i} class="arriving">
                  <td class="nowrap">
                    {stepLabel(mode, step)}
                    {step.status === "failed" && (
                      <>
                        {" "}
                        <Badge look={STATUS.failed} />
                      </>
                    )}
                  </td>
                  <td class="nowrap">
                    {step.model ?? "none"}
                    {step.provider !== null && <span class="muted"> {step.provider}</span>}
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
            </tbody>
          </table>
        </Scroll>
      )}
      {running &&
        (begun.length === 0 ? (
          <p class="muted pulse">
            {steps.length === 0
              ? "The first step is under way or waiting for its turn…"
              : "The next step is under way…"}
          </p>
        ) : (
          begun.map((step) => (
            <p key={`${step.name} ${step.started_at}`} class="muted pulse">
              {stepLabel(mode, step)} is under way: {step.model}, since {moment(step.started_at)}
            </p>
          ))
        ))}
      {!running && steps.length === 0 && <p class="muted">It ended before its first step.</p>}
    </section>
  )
}
