/** The second half of the demo: agents, one task in each mode, a tool, and what it cost. */
import { GatewayClient, type Job } from "sealgate/gateway-client"
import { FakeUpstream } from "../../test/support/FakeUpstream.ts"
import { alpha, beta, gamma } from "./models.ts"
import { startGateway } from "./serverProcess.ts"
import { chapter, fact, good, line } from "./story.ts"
import { demoTools } from "./tools.ts"

const ALPHA = { provider: "provider1", model: "alpha" } as const
const BETA = { provider: "provider2", model: "beta" } as const
const GAMMA = { provider: "provider3", model: "gamma" } as const

const dollars = (microUsd: number | null): string => (microUsd === null ? "unknown" : `$${(microUsd / 1e6).toFixed(6)}`)

const showResult = ({ cost_micro_usd, result }: Job): void => {
  if (result == null) return
  fact("answer", result.answer)
  fact("verdict", `${result.verdict}, confidence in the answer ${result.confidence?.toFixed(2) ?? "none"}`)
  if (result.mode === "adversarial")
    for (const { claim, status } of result.objections) fact("objection", `${claim} (${status})`)
  if (result.mode === "verified")
    for (const { independent_answer, note, question } of result.checks)
      fact("check", `${question} ${independent_answer} ${note}`)
  fact("cost", dollars(cost_micro_usd ?? null))
}

export const demoGateway = async (): Promise<void> => {
  await using upstream = await FakeUpstream.start()
  upstream.when({ model: ALPHA.model }).always(alpha)
  upstream.when({ model: BETA.model }).always(beta)
  upstream.when({ model: GAMMA.model }).always(gamma)

  chapter("Start an agent gateway in development mode")
  const server = await startGateway({
    PROVIDER1_API_KEY: "demo",
    PROVIDER1_BASE_URL: upstream.openAi,
    PROVIDER1_MODEL: ALPHA.model,
    PROVIDER2_API_KEY: "demo",
    PROVIDER2_BASE_URL: upstream.openAi,
    PROVIDER2_MODEL: BETA.model,
    PROVIDER3_API_KEY: "demo",
    PROVIDER3_BASE_URL: upstream.anthropic,
    PROVIDER3_MODEL: GAMMA.model,
    TOOL_PRIVATE_NETWORKS: "127.0.0.1",
  })
  fact("listens on", server.url)
  line(`Its upstream is a script on this machine (${upstream.url}) that plays three models.`)
  line("Alpha is careless on purpose; no real model is called.")

  try {
    const gateway = new GatewayClient({ baseUrl: server.url, token: server.token })
    const config = await gateway.routing.config()
    const { version: _, ...current } = config
    await gateway.routing.replaceConfig({
      ...current,
      strategy: "fallback",
      baseline: BETA,
      targets: [
        { ...ALPHA, max_context_tokens: 8000, prices: { input: 100_000, output: 400_000, cached_input: 10_000 } },
        { ...BETA, max_context_tokens: 8000, prices: { input: 1_000_000, output: 4_000_000, cached_input: 100_000 } },
        { ...GAMMA, max_context_tokens: 8000, prices: { input: 500_000, output: 2_000_000, cached_input: 50_000 } },
      ],
    })
    fact("routing", "alpha first, then beta and gamma; beta is the baseline at ten times its price")
    const agent = await gateway.agents.create({ name: "counter", instructions: "Answer in one sentence." })
    fact("agent", `${agent.name} (${agent.id})`)

    for (const mode of ["adversarial", "verified"] as const) {
      chapter(`Run a task in ${mode} mode`)
      const task = 'How many letters "r" are in "strawberry"?'
      fact("task", task)
      const job = await gateway.agents.execute(agent.id, { task, mode })
      for await (const event of job.events()) {
        if (event.type === "step") fact("step", `${event.step.kind} by ${event.step.model ?? "?"}`)
      }
      const ended = await job.wait()
      good(`the job is ${ended.status} after ${ended.steps.length} steps and ${ended.usage.calls} calls`)
      showResult(ended)
    }

    await demoTools(gateway)

    chapter("What routing saved")
    const stats = await gateway.routing.stats()
    fact("calls", String(stats.calls))
    fact("cost", dollars(stats.actual_micro_usd))
    fact("all by beta", dollars(stats.baseline_micro_usd))
    good(`saved ${dollars(stats.saved_micro_usd)}, ${stats.saved_percent?.toFixed(1)} %`)
    line(stats.method)
  } finally {
    chapter("Stop the gateway")
    const code = await server.stop()
    good(`it stopped with exit code ${code}`)
    if (code !== 0) process.exitCode = 1
  }
}
