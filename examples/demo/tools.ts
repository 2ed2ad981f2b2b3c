/** An agent with a real MCP server: the model only asks for the calculation. */
import type { GatewayClient } from "sealgate/gateway-client"
import { startCalculator } from "../calculator.ts"
import { chapter, fact, good } from "./story.ts"

const TASK = "What is 48,765 × 1,234?"

export const demoTools = async (gateway: GatewayClient): Promise<void> => {
  chapter("Let an agent call a tool")
  const calculator = await startCalculator()
  try {
    fact("MCP server", `${calculator.url} (examples/calculator.ts)`)
    const mcp_servers = [{ name: "calc", url: calculator.url }]
    const agent = await gateway.agents.create({ name: "accountant", default_mode: "direct", mcp_servers })
    fact("task", TASK)
    const job = await gateway.agents.execute(agent.id, { task: TASK })
    for await (const event of job.events()) {
      if (event.type === "tool_call") fact("it calls", `${event.call.tool}(${event.call.input})`)
      if (event.type === "tool_result") fact("and gets", event.result.output)
    }
    const { result, status, steps } = await job.wait()
    fact("answer", result?.answer ?? "none")
    good(`the job is ${status}; each of its ${steps.length} steps, the call too, is stored and would outlive a crash`)
  } finally {
    calculator.stop()
  }
}
