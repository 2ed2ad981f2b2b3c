import type { Step } from "../../../../client/gateway/GatewayJobs.ts"
import type { AdversarialResult, Objection, Round } from "../../../../domain/jobs/modes/adversarial.ts"
import { between, duration, fraction } from "../../../shared/format.ts"
import { debateOf, type DebateRound } from "./debate.ts"
import { Badge, OBJECTION, SEVERITY, verdictBadge } from "../badges.tsx"

const By = ({ step }: { readonly step: Step | undefined }) =>
  step === undefined ? null : (
    <span class="small muted">
      {step.model !== null && (
        <>
          {step.model} at {step.provider},{" "}
        </>
      )}
      {duration(between(step.started_at, step.finished_at))}
    </span>
  )

const Proposal = ({ result: { proposal } }: { readonly result: AdversarialResult }) =>
  proposal === undefined ? (
    <p class="small muted">It is the answer above.</p>
  ) : (
    <blockquote class="plain">{proposal}</blockquote>
  )

const RESPONSES: Readonly<Record<Round["response"], string>> = {
  revised: "The proposer revised the answer.",
  rebutted: "The proposer defended the answer as it was.",
  mixed: "The proposer met some objections and defended the answer against others.",
  accepted: "No major objection remained, so the answer stayed and the rounds ended.",
  inconclusive: "The reply could not be read as a critique or a response, so the debate ended undecided.",
}

const ObjectionItem = ({ claim, evidence, replies, severity, status }: Objection) => (
  <li class={`objection ${severity}`}>
    <span class="row">
      <Badge look={SEVERITY[severity]} what="Severity" />
      <Badge look={OBJECTION[status]} what="Status" />
    </span>
    <span class="plain">{claim}</span>
    {evidence !== "" && <span class="plain small muted">Evidence: {evidence}</span>}
    {replies.map(({ action, round, text }) => (
      <span key={round} class="plain small">
        {action === "revise" ? "Met" : "Rebutted"} in round {round}: {text}
      </span>
    ))}
  </li>
)

const RoundItem = ({ critique, objections, outcome, response, round }: DebateRound) => (
  <li class="moment arriving">
    <div class="row">
      <h4>Round {round}: critique</h4>
      <By step={critique} />
    </div>
    {objections === undefined && critique !== undefined && (
      <p class="small muted">Done. The objections appear when the job has ended.</p>
    )}
    {objections?.length === 0 && <p>No new objections.</p>}
    {objections !== undefined && objections.length > 0 && (
      <ul class="stack tight">
        {objections.map((objection) => (
          <ObjectionItem key={objection.id} {...objection} />
        ))}
      </ul>
    )}
    {(response !== undefined || outcome !== undefined) && (
      <p class="row">
        <strong>{outcome === undefined ? "The proposer responded." : RESPONSES[outcome]}</strong>
        <By step={response} />
      </p>
    )}
  </li>
)

/** The debate in order: from the steps while it runs, with texts once there is a result. */
export const DebateRounds = ({
  ended,
  result,
  steps,
}: {
  readonly steps: ReadonlyArray<Step>
  readonly result: AdversarialResult | undefined
  readonly ended: boolean
}) => {
  const debate = debateOf(steps, result)
  const judge = result?.participants.find(({ role }) => role === "judge")
  if (debate.proposal === undefined && ended) return null
  return (
    <section class="card stack" aria-labelledby="debate-title">
      <h3 id="debate-title">Debate</h3>
      <ol class="moments">
        {debate.proposal === undefined ? (
          <li class="moment pending">
            <p class="muted">The proposal is being written…</p>
          </li>
        ) : (
          <li class="moment arriving">
            <div class="row">
              <h4>Proposal</h4>
              <By step={debate.proposal} />
            </div>
            {result !== undefined && <Proposal result={result} />}
          </li>
        )}
        {debate.rounds.map((round) => (
          <RoundItem key={round.round} {...round} />
        ))}
        {debate.judgement !== undefined && (
          <li class="moment arriving">
            <div class="row">
              <h4>Judgement</h4>
              <By step={debate.judgement} />
            </div>
            {result !== undefined && (
              <p class="row">
                <Badge look={verdictBadge(result)} what="Verdict" />
                <span>
                  {result.confidence === null ? (
                    "without a confidence"
                  ) : (
                    <>
                      confidence in the answer {fraction(result.confidence)}{" "}
                      <span class="muted">({result.calibrated ? "calibrated" : "from what the judge states"})</span>
                    </>
                  )}
                  {judge !== undefined &&
                    (judge.independent ? ", by an independent judge" : ", by a judge that is not independent")}
                </span>
              </p>
            )}
          </li>
        )}
        {!ended && debate.proposal !== undefined && debate.judgement === undefined && (
          <li class="moment pending">
            <p class="muted">In progress…</p>
          </li>
        )}
      </ol>
    </section>
  )
}
