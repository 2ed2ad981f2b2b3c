import type { RoutingTrial } from "../../../client/gateway/GatewayClient.ts"
import { usd } from "../../../domain/routing/dollars.ts"
import { count, plural } from "../../shared/format.ts"
import { Scroll } from "../../shared/Scroll.tsx"
import { nameOf } from "./routingForm.ts"

/** What a configuration would have done with the calls of the last day, beside what happened. */
export const TrialReport = ({ trial }: { readonly trial: RoutingTrial }) => {
  const less = trial.actual_micro_usd - trial.trial_micro_usd
  if (trial.tried_calls === 0) {
    return (
      <section class="card stack tight" aria-labelledby="trial-title">
        <h3 id="trial-title">On the last 24 hours</h3>
        <p>There are no calls to try it on.</p>
      </section>
    )
  }
  return (
    <section class="card stack" aria-labelledby="trial-title">
      <h3 id="trial-title">On the last 24 hours</h3>
      <dl class="figures">
        <div class="figure-card">
          <dt>It would have cost</dt>
          <dd class="figure">{usd(trial.trial_micro_usd)}</dd>
          <dd class="small muted">{plural(trial.tried_calls, "call")} of all tenants</dd>
        </div>
        <div class="figure-card">
          <dt>It cost</dt>
          <dd class="figure">{usd(trial.actual_micro_usd)}</dd>
          <dd class="small muted">the same calls</dd>
        </div>
        <div class="figure-card">
          <dt>{less < 0 ? "More" : "Less"}</dt>
          <dd class={less < 0 ? "figure warn" : less > 0 ? "figure good" : "figure"}>{usd(Math.abs(less))}</dd>
          <dd class="small muted">cost alone, not quality</dd>
        </div>
      </dl>
      {trial.unserved_calls > 0 && (
        <p class="note warn">{plural(trial.unserved_calls, "call")} would have found no target that takes them.</p>
      )}
      {trial.unpriced_calls > 0 && (
        <p class="small muted">
          {plural(trial.unpriced_calls, "call")} without a price on one side are in neither sum.
        </p>
      )}
      <Scroll label="Table of targets">
        <table>
          <thead>
            <tr>
              <th scope="col">Target</th>
              <th scope="col" class="number">
                Calls before
              </th>
              <th scope="col" class="number">
                Calls then
              </th>
              <th scope="col" class="number">
                Cost then
              </th>
            </tr>
          </thead>
          <tbody>
            {trial.by_target.map((entry) => (
              <tr key={nameOf(entry)}>
                <th scope="row">
                  {entry.model} <span class="muted">{entry.provider}</span>
                </th>
                <td class="number">{count(entry.actual_calls)}</td>
                <td class="number">{count(entry.trial_calls)}</td>
                <td class="number">{usd(entry.trial_micro_usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="small muted">{trial.method}</p>
    </section>
  )
}
