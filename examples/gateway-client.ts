/** The gateway's typed client: an agent, a task, its steps as they finish, and what it cost. */
import { GatewayClient } from "sealgate/gateway-client"

const gateway = new GatewayClient({
  baseUrl: process.env["SEALGATE_GATEWAY"] ?? "http://localhost:3000",
  token: process.env["SEALGATE_TOKEN"] ?? "",
})

const agent = await gateway.agents.create({ name: "reviewer", instructions: "Answer in one sentence." })
const job = await gateway.agents.execute(agent.id, { task: "Is 391 a prime?", mode: "verified" })
for await (const event of job.events()) {
  if (event.type === "step") console.log(`${event.step.kind} by ${event.step.provider}/${event.step.model}`)
}

const { cost_micro_usd, result, status } = await job.wait()
console.log(`${status}: ${result?.verdict}, ${cost_micro_usd} micro-USD`)
const stats = await gateway.routing.stats()
console.log(`saved so far: ${stats.saved_micro_usd} micro-USD`)
