/** Tool calls of a mode: each is one durable step, and its output reaches models as quoted data. */
import { DateTime, Effect, Schema } from "effect"
import type { Tool, ToolCall } from "../../../../domain/chat/chat.ts"
import { inputBegun } from "../../../../domain/jobs/jobEvents.ts"
import { type HttpTool, ListedTool, type McpServer, shownText } from "../../../../domain/jobs/tool.ts"
import { modelSchemaOf } from "../../../../domain/jobs/modelSchema.ts"
import { modeOf } from "../../../../domain/jobs/modes.ts"
import { ASK_PERSON } from "../../../../domain/jobs/question.ts"
import { type Step, stepName } from "../../../../domain/jobs/step.ts"
import type { StorageUnavailable } from "../../../../domain/operations/storage.ts"
import type { Reveal, SecretWithheld } from "../../../access/Secrets.ts"
import { failedOutput, type ToolInput, ToolOutput } from "../../../tools/ToolOutput.ts"
import type { Bearer } from "../../../tools/withoutSecret.ts"
import type { Listing } from "../../../tools/mcpTools.ts"
import type { Tools } from "../../../tools/Tools.ts"
import type { LiveSteps } from "../../LiveSteps.ts"
import type { JobContext, JobFailure } from "../../JobProgram.ts"
import { ASKING, askPerson } from "./askPerson.ts"
import { toolsUnavailable } from "./jobFailures.ts"
import { quotedOutput } from "./quoted.ts"
import { ARGUMENTS, argumentsIn } from "./toolArguments.ts"

export interface Toolbox {
  /**
   * The agent's tools as models see them. The list of each MCP server is a step, so a resumed job has the same tools. Modes
   * in which several models do the task get only read-only tools, and none that asks people.
   */
  readonly offered: Effect.Effect<ReadonlyArray<Tool>, JobFailure>
  readonly use: (step: Step, called: ToolCall["function"]) => Effect.Effect<ToolOutput>
  /** Carries out a model's call of an offered tool. `content` is that of its `tool` message. */
  readonly call: (
    step: Step,
    called: ToolCall["function"],
  ) => Effect.Effect<{ readonly content: string; readonly is_error: boolean }>
}

const MAX_NAME_SENT = 64

type Run = (input: ToolInput, step: Step) => Effect.Effect<ToolOutput>

/** A tool or server that may need a secret. */
interface Called {
  readonly name: string
  readonly secret?: string
  readonly url?: string
}

interface Services {
  readonly tools: Tools
  readonly live: LiveSteps
  readonly reveal: Reveal
}

export const makeToolUse = (context: JobContext, { live, reveal, tools }: Services): Toolbox => {
  const { mcp_servers = [], tools: http = [] } = context.agent
  // An own mode decides for itself.
  const mayAct = modeOf(context.mode)?.mayAct ?? true
  const ask_person = mayAct ? context.agent.ask_person : undefined
  const mayOffer = ({ read_only }: Pick<HttpTool, "read_only">) => mayAct || read_only === true
  const ofAgent = http.filter((tool) => mayOffer(tool) && (ask_person === undefined || tool.name !== ASK_PERSON))
  const { bearerOf, withBearer } = makeBearers(context, reveal)
  /** The same in every run of the job, so a call that was in flight at a crash is repeated under the same key. */
  const keyOf = (step: Step) => `${context.jobId}/${stepName(step)}`
  const known = new Map<string, Run>()
  if (ask_person !== undefined) known.set(ASK_PERSON, (input, step) => askPerson(context, ask_person, step, input))
  for (const tool of ofAgent) {
    known.set(tool.name, (input, step) => withBearer(tool, (bearer) => tools.call(tool, input, keyOf(step), bearer)))
  }

  const listed = (server: McpServer, index: number) => {
    const found = bearerOf(server).pipe(
      Effect.mapError((error) => ({ why: withheld(error), retryable: error._tag === "StorageUnavailable" })),
      Effect.flatMap((bearer) => tools.list(server, bearer)),
      Effect.mapError(({ retryable, why }) => toolsUnavailable(server.name, why, retryable)),
      Effect.map((listing) => listedStep(server, listing, known, mayOffer)),
    )
    return context.step({ kind: "tools", server: index + 1 }, Schema.Array(ListedTool), found)
  }

  const offered = Effect.gen(function* () {
    const all = [...(ask_person === undefined ? [] : [ASKING]), ...(yield* Effect.forEach(ofAgent, definitionOf))]
    for (const [index, server] of mcp_servers.entries()) {
      for (const tool of yield* listed(server, index)) {
        known.set(tool.name, (input, step) =>
          withBearer(server, (bearer) => tools.callListed(server, tool, input, keyOf(step), bearer)),
        )
        all.push(yield* definitionOf(tool))
      }
    }
    return all
  })

  const run = (step: Step, { arguments: text, name }: ToolCall["function"]): Effect.Effect<ToolOutput> => {
    const called = known.get(name)
    if (called === undefined) return Effect.succeed(failedOutput("There is no tool of this name."))
    const input = argumentsIn(text)
    return input === undefined
      ? Effect.succeed(failedOutput(`The tool was not called: its arguments are not ${ARGUMENTS}.`))
      : called(input, step)
  }

  /** Carries out a call, and announces it to followers. */
  const announced = Effect.fnUntraced(function* (step: Step, called: ToolCall["function"]) {
    const begun = {
      name: stepName(step),
      ...step,
      // Models may invent names of any length; notifications to followers must be short.
      tool: called.name.slice(0, MAX_NAME_SENT),
      input: inputBegun(called.arguments),
      started_at: yield* DateTime.now,
    }
    const { end } = yield* live.begin(context.jobId, begun)
    return yield* Effect.ensuring(run(step, called), Effect.sync(end))
  })

  const use = (step: Step, called: ToolCall["function"]) =>
    context.step(
      step,
      ToolOutput,
      Effect.map(announced(step, called), (output) => withTrail(called, output)),
    )

  return {
    offered,
    use,
    call: (step, called) =>
      Effect.map(use(step, called), ({ is_error, text }) => ({ content: quotedOutput(called.name, text), is_error })),
  }
}

const withTrail = (called: ToolCall["function"], output: ToolOutput) => ({
  value: output,
  tool: {
    name: shownText(called.name),
    input: shownText(called.arguments),
    output: shownText(output.text),
    is_error: output.is_error,
  },
})

/** The usable tools of a server, and the trail of their listing. */
const listedStep = (
  server: McpServer,
  listing: Listing,
  known: ReadonlyMap<string, Run>,
  mayOffer: (tool: ListedTool) => boolean,
) => {
  const { false: usable = [], true: taken = [] } = Object.groupBy(listing.tools, ({ name }) => `${known.has(name)}`)
  const leftOut = [
    ...listing.leftOut,
    ...taken.map(({ name }) => `${name}: an HTTP tool has this name`),
    ...usable.filter((tool) => !mayOffer(tool)).map(({ name }) => `${name}: this mode offers only read-only tools`),
  ].map((why) => `Left out ${why}`)
  const free = usable.filter(mayOffer)
  const output = shownText([...free.map(({ name }) => name), ...leftOut].join("\n"))
  return { value: free, tool: { name: server.name, input: "", output, is_error: false } }
}

/** Returns a function that finds the secret of a tool or server, if it needs one. */
const makeBearers = ({ tenant }: JobContext, reveal: Reveal) => {
  const bearerOf = ({ secret, url }: Called): Effect.Effect<Bearer, SecretWithheld | StorageUnavailable> =>
    secret === undefined || url === undefined ? Effect.succeed(undefined) : reveal(tenant, secret, url)
  return {
    bearerOf,
    /** Makes a call with its secret. If the secret may not be sent there, makes no call. */
    withBearer: (to: Called, call: (bearer: Bearer) => Effect.Effect<ToolOutput>) =>
      Effect.matchEffect(bearerOf(to), {
        onSuccess: call,
        onFailure: (error) => Effect.succeed(failedOutput(`The tool was not called. ${withheld(error)}`)),
      }),
  }
}

const withheld = (error: SecretWithheld | StorageUnavailable): string =>
  error._tag === "SecretWithheld" ? error.why : "Its secret could not be read, because the database is away."

/** Yields first, because folding a large schema takes a while. */
const definitionOf = ({ description, input_schema, name }: Pick<ListedTool, "name" | "description" | "input_schema">) =>
  Effect.map(Effect.yieldNow, (): Tool => ({
    type: "function",
    function: { name, description, parameters: modelSchemaOf(input_schema) },
  }))
