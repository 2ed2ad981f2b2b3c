import { SecureRandom } from "effect/crypto"
import { useRef, useState } from "preact/hooks"
import type { Agent } from "../../../client/gateway/GatewayClient.ts"
import { DEFAULT_EFFORT } from "../../../domain/jobs/modes/description.ts"
import { Field, fieldProps } from "../../shared/Field.tsx"
import { usd } from "../../../domain/routing/dollars.ts"
import { useTypicalCost } from "../jobs/useTypicalCost.ts"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { useForm } from "../useForm.ts"
import { Problem } from "../View.tsx"
import { checkTask, type TaskFields } from "./forms.ts"
import { EffortChoice, ModeChoice } from "./ModeChoice.tsx"
import { WhenToRun } from "./WhenToRun.tsx"

export const RunTask = ({ agent }: { readonly agent: Agent }) => {
  const { gateway } = useSession()
  const [fields, setFields] = useState<TaskFields>({
    task: "",
    mode: agent.default_mode,
    effort: agent.default_effort ?? DEFAULT_EFFORT,
    priority: "normal",
    concurrency: "",
  })
  const typical = useTypicalCost(fields.mode, fields.effort, agent.id)
  const { busy, failure, run } = useAction()
  // If a task is sent again after a lost answer, it reuses its idempotency key, so no second job is created.
  const attempt = useRef<{ readonly body: string; readonly idempotencyKey: string }>(null)

  const { form, mistakes, submit } = useForm(
    () => checkTask(fields),
    (request) => {
      const body = JSON.stringify(request)
      if (attempt.current?.body !== body) attempt.current = { body, idempotencyKey: SecureRandom.uuidV4Unsafe() }
      const { idempotencyKey } = attempt.current
      run(
        () => gateway.agents.execute(agent.id, request, { idempotencyKey }),
        (job) => {
          location.hash = hrefOf({ view: "job", id: job.id })
        },
      )
    },
  )
  return (
    <form ref={form} class="stack" noValidate onSubmit={submit}>
      <Field id="task" label="Task" hint="Ctrl+Enter runs it." mistake={mistakes.task}>
        <textarea
          rows={6}
          value={fields.task}
          onInput={(event) => {
            const { value } = event.currentTarget
            setFields((known) => ({ ...known, task: value }))
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event)
          }}
          required
          {...fieldProps("task", mistakes.task !== undefined)}
        />
      </Field>
      <ModeChoice
        name="task-mode"
        legend="How to answer"
        value={fields.mode}
        onChange={(mode) => setFields((known) => ({ ...known, mode }))}
      />
      <div class="columns">
        <EffortChoice
          id="task-effort"
          value={fields.effort}
          onChange={(effort) => setFields((known) => ({ ...known, effort }))}
        />
        <WhenToRun
          fields={fields}
          mistake={mistakes.concurrency}
          onChange={(change) => setFields((known) => ({ ...known, ...change }))}
        />
      </div>
      {typical !== undefined && <p class="small muted">Such a job usually costs {usd(typical)}.</p>}
      {failure !== undefined && <Problem failure={failure} />}
      <div>
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Starting…" : "Run"}
        </button>
      </div>
    </form>
  )
}
