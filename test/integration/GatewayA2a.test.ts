/** The gateway's agents over A2A, called by the official SDK's client. */
import { randomBytes } from "node:crypto"
import {
  type ListTasksRequest,
  type ListTasksResponse,
  type Message,
  Role,
  type SendMessageRequest,
  StreamResponse,
  type Task,
  TaskState,
  type AgentCard,
} from "@a2a-js/sdk"
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client"
import {
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, type Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Upstream } from "../../src/services/upstream/Upstream.ts"
import { describeDatabases } from "../support/databases.ts"
import { FakeUpstream, fault } from "../support/FakeUpstream.ts"
import {
  call,
  databaseUrl,
  gatedUpstream,
  hasArrived,
  problemIn,
  startGateway,
  type TestGateway,
  tokenFor,
} from "../support/gateway.ts"
import { failing } from "../support/promises.ts"
import { openSocket, postOf } from "../support/sockets.ts"
import { toolServer } from "../support/toolServer.ts"

const ASKS = {
  toolCalls: [
    {
      name: "ask_person",
      arguments: {
        question: "Which city?",
        answer_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    },
  ],
}

/** The SDK's client, found by the agent's card. */
const connect = (gateway: Pick<TestGateway, "url">, agent: string, token: string) =>
  Effect.promise(() => {
    const fetchImpl: typeof fetch = (url, init) => {
      const headers = new Headers(init?.headers)
      headers.set("authorization", `Bearer ${token}`)
      return fetch(url, { ...init, headers })
    }
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    })
    return factory.createFromUrl(`${gateway.url}/a2a/${agent}/`)
  })

const message = (messageId: string, text: string, more: Partial<Message> = {}): Message => ({
  messageId,
  role: Role.ROLE_USER,
  parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
  taskId: "",
  contextId: "",
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
  ...more,
})

const request = (sent: Message, returnImmediately = false): SendMessageRequest => ({
  tenant: "",
  message: sent,
  configuration: {
    acceptedOutputModes: ["text/plain"],
    taskPushNotificationConfig: undefined,
    returnImmediately,
  },
  metadata: undefined,
})

const send = (client: Client, sent: Message, returnImmediately = false) =>
  Effect.promise(async () => {
    const result = await client.sendMessage(request(sent, returnImmediately))
    if (!("id" in result)) throw new Error("not a task")
    return result
  })

const textOf = (parts: Task["artifacts"][number]["parts"] = []) =>
  parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("")

const answerOf = ({ artifacts }: Task) => textOf(artifacts[0]?.parts)

const collect = (stream: AsyncIterable<StreamResponse>) =>
  Effect.promise(async () => {
    const events: Array<NonNullable<StreamResponse["payload"]>> = []
    for await (const { payload } of stream) if (payload !== undefined) events.push(payload)
    return events
  })

/** A short form of each event of a stream. */
const shown = (events: ReadonlyArray<NonNullable<StreamResponse["payload"]>>) =>
  events.map((event) => {
    if (event.$case === "task") return `task ${event.value.status?.state}`
    if (event.$case === "statusUpdate") return `status ${event.value.status?.state}`
    if (event.$case === "message") return "message"
    const { append, artifact, lastChunk } = event.value
    return `${append ? "append" : "replace"} ${textOf(artifact?.parts)}${lastChunk ? " last" : ""}`
  })

const listOf = (client: Client, more: Partial<ListTasksRequest> = {}) =>
  Effect.promise(() =>
    client.listTasks({
      tenant: "",
      contextId: "",
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: "",
      statusTimestampAfter: undefined,
      ...more,
    }),
  )

/** A page with the ids of its tasks. */
const shownPage = ({ tasks, ...page }: ListTasksResponse) => ({ ids: tasks.map(({ id }) => id), ...page })

const id = (task: string) => ({ tenant: "", id: task, metadata: undefined })

describeDatabases("agents over A2A", (database) => {
  const setup = Effect.fnUntraced(function* (upstream?: Layer.Layer<Upstream>, environment = {}) {
    const gateway = yield* startGateway(yield* databaseUrl(database), environment, upstream)
    const token = yield* tokenFor("alice")
    const body = { name: "guide", role: "Guides.", default_mode: "direct" }
    const made = yield* call(gateway, "POST", "/api/v1/agents", { token, body })
    const agent = String(made.json["id"])
    return { gateway, token, agent, client: yield* connect(gateway, "guide", token) }
  })

  const withFake = Effect.gen(function* () {
    const fake = yield* FakeUpstream.make()
    const environment = {
      SECRETS_KEY: randomBytes(32).toString("base64"),
      TOOL_PRIVATE_NETWORKS: "127.0.0.1",
    }
    const gateway = yield* startGateway(yield* databaseUrl(database), environment, fake)
    const token = yield* tokenFor("alice")
    const body = { name: "guide", default_mode: "direct", ask_person: {} }
    yield* call(gateway, "POST", "/api/v1/agents", { token, body })
    return { gateway, token, fake, client: yield* connect(gateway, "guide", token) }
  })

  it.live("describes an agent, gives it a task once per message, and reads the answer", () =>
    Effect.gen(function* () {
      const { agent, client, gateway, token } = yield* setup()
      const card: AgentCard = yield* Effect.promise(() => client.getAgentCard())
      assert.deepInclude(card, { name: "guide", description: "Guides.", version: "1" })
      assert.strictEqual(card.supportedInterfaces[0]?.url, `${gateway.url}/a2a/${agent}`)
      assert.deepInclude(card.capabilities, { streaming: true, pushNotifications: true })
      assert.strictEqual(card.securitySchemes["bearer"]?.scheme?.$case, "httpAuthSecurityScheme")

      const task = yield* send(client, message("m-1", "Say hello."))
      assert.strictEqual(task.status?.state, TaskState.TASK_STATE_COMPLETED)
      assert.include(answerOf(task), "Say hello.")
      assert.deepInclude(task.artifacts[0]?.metadata, { mode: "direct", verdict: "unchecked" })
      assert.deepStrictEqual(yield* send(client, message("m-1", "Say hello.")), task)
      assert.deepStrictEqual(yield* Effect.promise(() => client.getTask(id(task.id))), task)
      const { json: job } = yield* call(gateway, "GET", `/api/v1/jobs/${task.id}`, { token })
      assert.deepInclude(job, { agent_id: agent, task: "Say hello.", status: "completed" })
      const reused = yield* failing(client.sendMessage(request(message("m-1", "Something else."))))
      assert.include(String(reused), "used with another body")
    }),
  )

  it.live("streams the answer as it is written, and follows a running task", () =>
    Effect.gen(function* () {
      const { client, fake } = yield* withFake
      fake.script({ text: ["Oslo", " is", " north."] }, { text: ["Bergen", " is", " west."] })
      const events = shown(yield* collect(client.sendMessageStream(request(message("m-1", "Where is Oslo?")))))
      assert.deepStrictEqual(events.slice(0, 2), ["task 1", "status 2"])
      assert.deepStrictEqual(events.slice(-2), ["append  last", "status 3"])
      assert.strictEqual(
        events
          .slice(2, -2)
          .map((event) => event.replace(/^(append|replace) /, ""))
          .join(""),
        "Oslo is north.",
      )
      const { id: ended } = yield* send(client, message("m-2", "Where is Bergen?"))
      const again = yield* failing(Array.fromAsync(client.resubscribeTask(id(ended))))
      assert.instanceOf(again, UnsupportedOperationError)
    }),
  )

  it.live("passes on the question of a model, and its answer", () =>
    Effect.gen(function* () {
      const { client, fake, gateway, token } = yield* withFake
      fake.script(ASKS, { text: "Oslo is north." }, ASKS, { text: "Bergen is west." })
      const asked = yield* send(client, message("m-1", "Where is it?"))
      assert.strictEqual(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
      const [question, schema] = asked.status?.message?.parts ?? []
      assert.deepStrictEqual(question?.content, { $case: "text", value: "Which city?" })
      assert.strictEqual(schema?.content?.$case, "data")

      const wrong = message("m-2", '{"town":"Oslo"}', { taskId: asked.id })
      assert.include(String(yield* failing(client.sendMessage(request(wrong)))), "does not fit the schema")
      const elsewhere = message("m-2", "Oslo", { taskId: asked.id, contextId: "another" })
      assert.include(String(yield* failing(client.sendMessage(request(elsewhere)))), "another contextId")
      const done = yield* send(client, message("m-3", "Oslo", { taskId: asked.id, contextId: asked.contextId }))
      assert.strictEqual(done.status?.state, TaskState.TASK_STATE_COMPLETED)
      assert.strictEqual(answerOf(done), "Oslo is north.")
      const { json: job } = yield* call(gateway, "GET", `/api/v1/jobs/${done.id}`, { token })
      assert.include(JSON.stringify(job["steps"]), String.raw`{\"city\":\"Oslo\"}`)
      const late = message("m-4", "Oslo", { taskId: asked.id })
      assert.instanceOf(yield* failing(client.sendMessage(request(late))), UnsupportedOperationError)

      const events = yield* collect(client.sendMessageStream(request(message("m-5", "Where is it?"))))
      assert.deepStrictEqual(shown(events).slice(-1), ["status 6"])
      const second = events[0]?.$case === "task" ? events[0].value.id : ""
      const follower = client.resubscribeTask(id(second))
      const first = yield* Effect.promise(() => follower.next())
      assert.strictEqual(first.value?.payload?.$case, "task")
      const data = { content: { $case: "data", value: { city: "Bergen" } }, metadata: undefined } as const
      const parts = [{ ...data, filename: "", mediaType: "" }]
      yield* send(client, message("m-6", "", { taskId: second, parts }))
      assert.deepStrictEqual(shown(yield* collect(follower)).slice(-2), ["append  last", "status 3"])
    }),
  )

  it.live("takes a repeated answer once, so that the next question stays open", () =>
    Effect.gen(function* () {
      const { client, fake, gateway, token } = yield* withFake
      fake.script(ASKS, ASKS, { text: "Oslo is north." })
      const first = yield* send(client, message("m-1", "Where is it?"))
      const taskId = first.id
      const answer = message("m-2", "Oslo", { taskId })
      const second = yield* send(client, answer)
      assert.strictEqual(second.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
      assert.notStrictEqual(second.status?.message?.messageId, first.status?.message?.messageId)
      assert.deepStrictEqual(yield* send(client, answer), second)
      const other = yield* failing(client.sendMessage(request(message("m-2", "Bergen", { taskId }))))
      assert.include(String(other), "used with another body")
      assert.deepStrictEqual(yield* Effect.promise(() => client.getTask(id(taskId))), second)

      const last = message("m-3", "Bergen", { taskId })
      const sent = [last, last, last].map((each) => client.sendMessage(request(each)))
      for (const task of yield* Effect.promise(() => Promise.all(sent))) assert.deepInclude(task, { id: taskId })
      const done = yield* send(client, answer)
      assert.strictEqual(done.status?.state, TaskState.TASK_STATE_COMPLETED)
      const { json: job } = yield* call(gateway, "GET", `/api/v1/jobs/${taskId}`, { token })
      assert.strictEqual(JSON.stringify(job["steps"]).split(String.raw`{\"city\":\"`).length - 1, 2)
      const admin = yield* tokenFor("alice", { roles: ["admin"] })
      const audit = yield* call(gateway, "GET", "/api/v1/audit", { token: admin })
      assert.strictEqual(audit.text.split('"job.input"').length - 1, 2)
    }),
  )

  it.live("takes an answer that names its question for that question only", () =>
    Effect.gen(function* () {
      const { client, fake } = yield* withFake
      fake.script(ASKS, ASKS, { text: "Oslo is north." })
      const first = yield* send(client, message("m-1", "Where is it?"))
      const taskId = first.id
      const replyTo = (messageId: string, { status }: Task) => {
        const metadata = { "sealgate/in-reply-to": status?.message?.messageId }
        return message(messageId, "Oslo", { taskId, metadata })
      }
      const second = yield* send(client, replyTo("m-2", first))
      assert.strictEqual(second.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
      const late = yield* failing(client.sendMessage(request(replyTo("m-3", first))))
      assert.instanceOf(late, UnsupportedOperationError)
      assert.include(String(late), "does not wait for this answer")
      const done = yield* send(client, replyTo("m-3", second))
      assert.strictEqual(done.status?.state, TaskState.TASK_STATE_COMPLETED)
    }),
  )

  it.live("continues a conversation by its contextId, one task at a time", () =>
    Effect.gen(function* () {
      const { client, fake, gateway, token } = yield* withFake
      fake.script({ text: "Oslo." }, ASKS, { text: "Bergen." }, { text: "Two." }, { text: "Alone." })
      const { contextId, id: first } = yield* send(client, message("m-1", "The capital?"))
      const listed = (path: string) =>
        Effect.map(call(gateway, "GET", path, { token }), ({ json }) =>
          (json["items"] as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id),
        )
      assert.deepStrictEqual(yield* listed("/api/v1/threads"), [])
      const asked = yield* send(client, message("m-2", "The second city?", { contextId }))
      assert.deepInclude(asked, { contextId })
      const busy = yield* failing(client.sendMessage(request(message("m-3", "How many?", { contextId }))))
      assert.instanceOf(busy, UnsupportedOperationError)
      assert.include(String(busy), "answer with its taskId")
      yield* send(client, message("m-4", "Norway", { contextId, taskId: asked.id }))
      const third = message("m-3", "How many?", { contextId })
      const last = yield* send(client, third)
      assert.deepStrictEqual(yield* send(client, third), last)
      const said = fake.requests.at(-1)?.body as { readonly messages: unknown }
      assert.deepStrictEqual(said.messages, [
        { role: "user", content: "The capital?" },
        { role: "assistant", content: "Oslo." },
        { role: "user", content: "The second city?" },
        { role: "assistant", content: "Bergen." },
        { role: "user", content: "How many?" },
      ])
      assert.notStrictEqual((yield* send(client, message("m-5", "Hi."))).contextId, contextId)
      assert.deepStrictEqual(yield* listed("/api/v1/threads"), [contextId])
      assert.deepStrictEqual(yield* listed(`/api/v1/jobs?thread_id=${contextId}`), [last.id, asked.id, first])
    }),
  )

  it.live("begins no thread with a message that it refuses", () =>
    Effect.gen(function* () {
      const { client, fake, gateway, token } = yield* withFake
      fake.script(ASKS, { text: "Oslo." })
      const { contextId, id: taskId } = yield* send(client, message("m-1", "The capital?"))
      const refused = (messageId: string) =>
        failing(client.sendMessage(request(message(messageId, "How many?", { contextId }))))
      const busy = yield* refused("m-2")
      assert.instanceOf(busy, UnsupportedOperationError)
      assert.include(String(busy), "answer with its taskId")
      yield* send(client, message("m-3", "Norway", { taskId }))
      assert.include(String(yield* refused("m-1")), "used with another body")
      assert.deepStrictEqual((yield* call(gateway, "GET", "/api/v1/threads", { token })).json["items"], [])
    }),
  )

  it.live("begins one task if messages with a contextId arrive together", () =>
    Effect.gen(function* () {
      const { client, fake } = yield* withFake
      fake.script({ text: "Hello." })
      const { contextId } = yield* send(client, message("m-1", "Hello."))
      fake.always(fault.silence)
      const sent = Array.from({ length: 4 }, (_, i) => request(message(`n-${i}`, "Again.", { contextId }), true))
      const done = yield* Effect.promise(() => Promise.allSettled(sent.map((each) => client.sendMessage(each))))
      const refused = done.flatMap((each) => (each.status === "rejected" ? [each.reason] : []))
      for (const error of refused) assert.instanceOf(error, UnsupportedOperationError)
      assert.strictEqual(refused.length, sent.length - 1)
      const begun = done.flatMap((each) => (each.status === "fulfilled" && "id" in each.value ? [each.value.id] : []))
      yield* Effect.promise(() => client.cancelTask(id(begun[0] ?? "")))
    }),
  )

  it.live("pushes a notice with the client's credentials when a task asks a person, and when it ends", () =>
    Effect.gen(function* () {
      const receiver = yield* toolServer((_, response) => void response.writeHead(200).end())
      const { client, fake, gateway, token } = yield* withFake
      fake.script(ASKS, { text: "Oslo is north." })
      const authentication = { scheme: "Bearer", credentials: "their-credentials" }
      const config = { tenant: "", id: "mine", taskId: "", url: receiver.url, token: "their-token", authentication }
      const first = request(message("m-1", "Where is it?"))
      const configuration = { acceptedOutputModes: [], returnImmediately: false, taskPushNotificationConfig: config }
      const asked = yield* Effect.promise(() => client.sendMessage({ ...first, configuration }))
      const taskId = "id" in asked ? asked.id : ""
      const other = {
        ...config,
        id: "other",
        taskId,
        url: `${receiver.url}/other`,
        token: "",
        authentication: undefined,
      }
      const made = yield* Effect.promise(() => client.createTaskPushNotificationConfig(other))
      assert.deepInclude(made, { taskId, id: "other", url: other.url })
      const which = { tenant: "", taskId, id: "mine" }
      const list = Effect.promise(() => client.listTaskPushNotificationConfig({ ...which, pageSize: 0, pageToken: "" }))
      const { configs } = yield* list
      assert.deepStrictEqual(
        configs.map(({ id, token }) => [id, token]),
        [
          ["mine", ""],
          ["other", ""],
        ],
      )
      const get = () => client.getTaskPushNotificationConfig(which)
      assert.deepInclude(yield* Effect.promise(get), { id: "mine", url: receiver.url })
      yield* Effect.promise(() => client.deleteTaskPushNotificationConfig({ ...which, id: "other" }))
      assert.strictEqual((yield* list).configs.length, 1)

      const arrived = (count: number) =>
        Effect.repeat(Effect.yieldNow, {
          until: () => receiver.requests.filter(({ url }) => url === "/").length >= count,
        })
      yield* arrived(1)
      yield* send(client, message("m-2", "Oslo", { taskId }))
      yield* arrived(2)
      const seen = receiver.requests.filter(({ url }) => url === "/")
      assert.deepStrictEqual(
        seen
          .map(({ body }) => StreamResponse.fromJSON(JSON.parse(body)).payload)
          .map((payload) =>
            payload?.$case === "statusUpdate"
              ? [payload.value.taskId, payload.value.contextId, payload.value.status?.state]
              : [],
          ),
        [
          [taskId, taskId, TaskState.TASK_STATE_INPUT_REQUIRED],
          [taskId, taskId, TaskState.TASK_STATE_COMPLETED],
        ],
      )
      for (const { headers } of seen) {
        assert.deepInclude(headers, {
          "content-type": "application/a2a+json",
          authorization: "Bearer their-credentials",
          "x-a2a-notification-token": "their-token",
        })
      }
      assert.strictEqual(new Set(seen.map(({ headers }) => headers["webhook-id"])).size, 2)
      assert.notInclude(seen.map(({ body }) => body).join(), "Oslo")
      assert.instanceOf(yield* failing(get()), TaskNotFoundError)
      const late = yield* Effect.promise(() => client.createTaskPushNotificationConfig({ ...other, url: receiver.url }))
      assert.strictEqual(late.id, "other")
      yield* arrived(3)
      // Its earlier notice was already sent.
      yield* Effect.promise(() => client.createTaskPushNotificationConfig(other))
      yield* Effect.repeat(list, { until: ({ configs }) => configs.length === 0 })
      const reader = yield* connect(gateway, "guide", yield* tokenFor("eve", { tenant: "alice", roles: ["read"] }))
      const refused = yield* failing(reader.createTaskPushNotificationConfig(other))
      assert.include(String(refused), '"run"')
      const sql = yield* call(gateway, "GET", `/api/v1/jobs/${taskId}/deliveries`, { token })
      assert.notInclude(sql.text, "their-")
    }),
  )

  it.live("does not take an answer that comes with one push configuration too many", () =>
    Effect.gen(function* () {
      const receiver = yield* toolServer((_, response) => void response.writeHead(200).end())
      const { client, fake } = yield* withFake
      fake.script(ASKS, { text: "Oslo is north." })
      const { id: taskId } = yield* send(client, message("m-1", "Where is it?"))
      const config = { tenant: "", id: "", taskId, url: receiver.url, token: "", authentication: undefined }
      for (let i = 0; i < 8; i++) {
        yield* Effect.promise(() => client.createTaskPushNotificationConfig({ ...config, id: `config-${i}` }))
      }
      const configuration = { acceptedOutputModes: [], returnImmediately: false, taskPushNotificationConfig: config }
      const reply = request(message("m-2", "Oslo", { taskId }))
      assert.include(String(yield* failing(client.sendMessage({ ...reply, configuration }))), "at most 8")
      const { status } = yield* Effect.promise(() => client.getTask(id(taskId)))
      assert.strictEqual(status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
    }),
  )

  it.live("pushes to no private address, for no task of others, and to at most 8 receivers per task", () =>
    Effect.gen(function* () {
      const receiver = yield* toolServer((_, response) => void response.writeHead(200).end())
      const gate = yield* gatedUpstream
      const { client, gateway, token } = yield* setup(gate.layer)
      const { id: taskId } = yield* send(client, message("m-1", "Wait."), true)
      const config = { tenant: "", taskId, url: receiver.url, token: "", authentication: undefined }
      const create = (by: Client, id: string, more: object = {}) =>
        by.createTaskPushNotificationConfig({ ...config, id, ...more })
      for (let i = 0; i < 8; i++) yield* Effect.promise(() => create(client, `config-${i}`))
      assert.include(String(yield* failing(create(client, "one-more"))), "at most 8")
      yield* Effect.promise(() => create(client, "config-0", { url: `${receiver.url}/replaced` }))
      for (const id of [" trailing", "new\nline", "x".repeat(65)]) {
        assert.include(String(yield* failing(create(client, id))), "params.id")
      }
      const odd = { tenant: "", taskId, id: "\u0000" }
      assert.include(String(yield* failing(client.deleteTaskPushNotificationConfig(odd))), "params.id")
      const injected = { authentication: { scheme: "Bearer\r\nx: y", credentials: "c" } }
      assert.include(String(yield* failing(create(client, "config-1", injected))), "scheme")

      const bob = yield* tokenFor("bob")
      for (const by of [token, bob]) {
        yield* call(gateway, "POST", "/api/v1/agents", { token: by, body: { name: "other" } })
        const other = yield* connect(gateway, "other", by)
        assert.instanceOf(yield* failing(create(other, "theirs")), TaskNotFoundError)
        const theirs = { tenant: "", taskId, id: "config-1" }
        assert.instanceOf(yield* failing(other.deleteTaskPushNotificationConfig(theirs)), TaskNotFoundError)
      }
      yield* gate.open
      const { text } = yield* call(gateway, "GET", `/api/v1/jobs/${taskId}/deliveries`, { token }).pipe(
        Effect.repeat({ until: ({ text }) => text.split('"failed"').length > 8 }),
      )
      assert.strictEqual(text.split("private network").length - 1, 8)
      assert.strictEqual(receiver.requests.length, 0)
    }),
  )

  it.live("answers at once if asked to, and cancels a task", () =>
    Effect.gen(function* () {
      const gate = yield* gatedUpstream
      const { client } = yield* setup(gate.layer)
      const { id: task, status } = yield* send(client, message("m-1", "Wait."), true)
      assert.strictEqual(status?.state, TaskState.TASK_STATE_SUBMITTED)
      const canceled = yield* Effect.promise(() => client.cancelTask(id(task)))
      assert.strictEqual(canceled.status?.state, TaskState.TASK_STATE_CANCELED)
      yield* gate.open
      const { id: ended } = yield* send(client, message("m-2", "Go."))
      assert.instanceOf(yield* failing(client.cancelTask(id(ended))), TaskNotCancelableError)
    }),
  )

  it.live("shows nothing of other tenants and agents, and nothing without a key", () =>
    Effect.gen(function* () {
      const { agent, client, gateway, token } = yield* setup()
      const { id: task } = yield* send(client, message("m-1", "Hello."))
      yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "other" } })
      const other = yield* connect(gateway, "other", token)
      assert.instanceOf(yield* failing(other.getTask(id(task))), TaskNotFoundError)
      assert.instanceOf(yield* failing(client.getTask(id("\u0000"))), TaskNotFoundError)
      const continued = (contextId: string) => request(message("m-2", "Hi", { contextId }))
      for (const contextId of ["\u0000", "trip", "01890a5d-ac96-774b-bcce-b302099a8057"]) {
        const unknown = yield* failing(client.sendMessage(continued(contextId)))
        assert.instanceOf(unknown, RequestMalformedError)
        assert.include(unknown.message, "No task here has this contextId; leave it out")
      }
      assert.instanceOf(yield* failing(other.sendMessage(continued(task))), RequestMalformedError)

      const card = `/a2a/${agent}/.well-known/agent-card.json`
      const bob = yield* tokenFor("bob")
      assert.strictEqual(problemIn(yield* call(gateway, "GET", card)).status, 401)
      assert.strictEqual(problemIn(yield* call(gateway, "GET", card, { token: bob })).code, "agent-not-found")
      yield* call(gateway, "POST", "/api/v1/agents", { token: bob, body: { name: "bobs" } })
      const bobs = yield* connect(gateway, "bobs", bob)
      assert.instanceOf(yield* failing(bobs.getTask(id(task))), TaskNotFoundError)
      assert.instanceOf(yield* failing(bobs.cancelTask(id(task))), TaskNotFoundError)
      assert.instanceOf(yield* failing(bobs.sendMessage(continued(task))), RequestMalformedError)
      const answer = request(message("m-2", "Hi", { taskId: task }))
      assert.instanceOf(yield* failing(bobs.sendMessage(answer)), TaskNotFoundError)

      const reader = yield* tokenFor("eve", { tenant: "alice", roles: ["read"] })
      const eve = yield* connect(gateway, "guide", reader)
      assert.strictEqual((yield* Effect.promise(() => eve.getTask(id(task)))).id, task)
      assert.include(String(yield* failing(eve.sendMessage(request(message("m-3", "Hi"))))), '"run"')
    }),
  )

  it.live("takes the version from the header, or else the query, and ignores its patch", () =>
    Effect.gen(function* () {
      const { agent, gateway, token } = yield* setup()
      const path = `/a2a/${agent}`
      const body = { jsonrpc: "2.0", id: "a", method: "GetTask", params: { id: "x" } }
      const versions: ReadonlyArray<readonly [to: string, version: string | undefined, code: number]> = [
        [path, undefined, -32009],
        [path, "", -32009],
        [path, "0.3", -32009],
        [path, "1.1", -32009],
        [path, "1.0.1", -32001],
        [`${path}?A2A-Version=1.0`, undefined, -32001],
        [`${path}?A2A-Version=0.3`, undefined, -32009],
        [`${path}?A2A-Version=0.3`, "1.0", -32001],
      ]
      for (const [to, version, code] of versions) {
        const headers: Record<string, string> = version === undefined ? {} : { "a2a-version": version }
        const answer = yield* call(gateway, "POST", to, { token, body, headers })
        assert.deepInclude(answer.json["error"], { code }, `${to} ${version}`)
      }
    }),
  )

  it.live("lists an agent's tasks, newest first, by context and state, in pages", () =>
    Effect.gen(function* () {
      const { client, fake, gateway, token } = yield* withFake
      fake.script({ text: "Oslo." }, { text: "Bergen." }, ASKS)
      const first = yield* send(client, message("m-1", "The capital?"))
      const { contextId } = first
      const alone = yield* listOf(client, { contextId })
      assert.deepStrictEqual(shownPage(alone), { ids: [first.id], totalSize: 1, nextPageToken: "", pageSize: 50 })
      const second = yield* send(client, message("m-2", "The second city?", { contextId }))
      const third = yield* send(client, message("m-3", "Where is it?"))

      const all = yield* listOf(client, { historyLength: 3 })
      const ids = [third.id, second.id, first.id]
      assert.deepStrictEqual(shownPage(all), { ids, totalSize: 3, nextPageToken: "", pageSize: 50 })
      assert.deepStrictEqual(all.tasks, [third, { ...second, artifacts: [] }, { ...first, artifacts: [] }])
      const whole = yield* listOf(client, { includeArtifacts: true })
      assert.deepStrictEqual(whole.tasks, [third, second, first])
      const page = yield* listOf(client, { pageSize: 2 })
      assert.deepInclude(shownPage(page), { ids: ids.slice(0, 2), totalSize: 3, pageSize: 2 })
      const { nextPageToken: pageToken } = page
      const rest = yield* listOf(client, { pageSize: 2, pageToken })
      assert.deepInclude(shownPage(rest), { ids: [first.id], totalSize: 3, nextPageToken: "" })

      const chosen: ReadonlyArray<readonly [Partial<ListTasksRequest>, Array<string>]> = [
        [{ contextId }, [second.id, first.id]],
        [{ contextId: third.contextId }, [third.id]],
        [{ contextId: third.contextId, status: TaskState.TASK_STATE_COMPLETED }, []],
        [{ contextId: third.contextId, status: TaskState.TASK_STATE_INPUT_REQUIRED }, [third.id]],
        [{ contextId: "trip" }, []],
        [{ contextId: "\u0000" }, []],
        [{ status: TaskState.TASK_STATE_COMPLETED }, [second.id, first.id]],
        [{ status: TaskState.TASK_STATE_INPUT_REQUIRED }, [third.id]],
        [{ status: TaskState.TASK_STATE_FAILED }, []],
        [{ status: TaskState.TASK_STATE_REJECTED }, []],
      ]
      for (const [filter, ids] of chosen) {
        const page = shownPage(yield* listOf(client, filter))
        assert.deepInclude(page, { ids, totalSize: ids.length, nextPageToken: "" }, JSON.stringify(filter))
      }

      const body = { jsonrpc: "2.0", id: 1, method: "ListTasks" }
      const raw = yield* call(gateway, "POST", "/a2a/guide", { token, body, headers: { "a2a-version": "1.0" } })
      assert.include(raw.text, '"nextPageToken":""')
      assert.notInclude(raw.text, "artifacts")

      const none = { ids: [], totalSize: 0, nextPageToken: "", pageSize: 50 }
      const bob = yield* tokenFor("bob")
      for (const by of [token, bob]) {
        yield* call(gateway, "POST", "/api/v1/agents", { token: by, body: { name: "other" } })
        const other = yield* connect(gateway, "other", by)
        for (const filter of [{}, { contextId }, { contextId: third.contextId }]) {
          assert.deepStrictEqual(shownPage(yield* listOf(other, filter)), none)
        }
      }
      const eve = yield* connect(gateway, "guide", yield* tokenFor("eve", { tenant: "alice", roles: ["read"] }))
      assert.deepStrictEqual(shownPage(yield* listOf(eve)).ids, ids)
    }),
  )

  it.live("answers malformed requests with errors of JSON-RPC", () =>
    Effect.gen(function* () {
      const { agent, gateway, token } = yield* setup(undefined, { MAX_REQUEST_BYTES: "20000" })
      const path = `/a2a/${agent}`
      const headers = { "a2a-version": "1.0" }
      const post = (body: unknown, to = path) => call(gateway, "POST", to, { token, body, headers })
      const sent = (params: unknown, method = "SendMessage") => ({ jsonrpc: "2.0", id: "a", method, params })
      const says = (parts: unknown, more: object = {}) =>
        sent({ message: { messageId: "m", role: "ROLE_USER", parts, ...more } })
      const cases: ReadonlyArray<readonly [body: unknown, status: number, code: number, says: string]> = [
        ["{", 400, -32700, "JSON"],
        ['{"a":1,"a":2}', 400, -32700, ""],
        [[], 400, -32600, "shape"],
        [{ jsonrpc: "2.0", method: "GetTask", params: { id: "x" } }, 400, -32600, "shape"],
        [{ jsonrpc: "1.0", id: 1, method: "GetTask" }, 400, -32600, "shape"],
        [says([{ text: "x".repeat(30_000) }]), 413, -32600, "20000 bytes"],
        [sent({}, "message/send"), 200, -32601, "SendMessage"],
        [sent({}, "constructor"), 200, -32601, "no such method"],
        [sent({}), 200, -32602, "params.message"],
        [sent({ message: "hi" }), 200, -32602, "params.message"],
        [says([]), 200, -32602, "params.message.parts"],
        [says([{}]), 200, -32602, "text or data"],
        [says([{ text: "" }]), 200, -32602, "text"],
        [says([{ text: "x" }], { role: "ROLE_AGENT" }), 200, -32602, "params.message.role"],
        [says([{ text: "x" }], { messageId: "ä" }), 200, -32602, "params.message.messageId"],
        [says([{ raw: "aGk=", mediaType: "image/png" }]), 200, -32005, "as text"],
        [says([{ text: "x" }, { url: "https://example.com/a.pdf" }]), 200, -32005, "as text"],
        [says([{ text: "x" }], { taskId: "none" }), 200, -32001, "no such job"],
        [sent({ id: 7 }, "GetTask"), 200, -32602, "params.id"],
        [sent({ id: "x" }, "GetTask"), 200, -32001, "no such job"],
        [sent({ pageSize: 0 }, "ListTasks"), 200, -32602, "params.pageSize"],
        [sent({ pageSize: 101 }, "ListTasks"), 200, -32602, "params.pageSize"],
        [sent({ pageToken: "next" }, "ListTasks"), 200, -32602, "cursor"],
        [sent({ status: "done" }, "ListTasks"), 200, -32602, "params.status"],
        [
          sent({ statusTimestampAfter: "2026-01-01T00:00:00Z" }, "ListTasks"),
          200,
          -32602,
          "params.statusTimestampAfter",
        ],
        [sent({}, "GetExtendedAgentCard"), 200, -32004, "card"],
        [sent({ taskId: "x", url: "ftp://a" }, "CreateTaskPushNotificationConfig"), 200, -32602, "params.url"],
        [
          sent({ taskId: "x", url: "https://a.example" }, "CreateTaskPushNotificationConfig"),
          200,
          -32001,
          "no such job",
        ],
        [sent({ taskId: "x", id: "y" }, "GetTaskPushNotificationConfig"), 200, -32001, "no such job"],
        [sent({}, "ListTaskPushNotificationConfigs"), 200, -32602, "params.taskId"],
        [sent({ taskId: "x" }, "DeleteTaskPushNotificationConfig"), 200, -32602, "params.id"],
      ]
      for (const [body, status, code, words] of cases) {
        const answer = yield* post(body)
        const said = `${JSON.stringify(body).slice(0, 100)}: ${answer.text}`
        assert.strictEqual(answer.status, status, said)
        assert.strictEqual(answer.json["jsonrpc"], "2.0", said)
        assert.strictEqual(answer.json["id"], status === 200 ? "a" : null, said)
        assert.deepInclude(answer.json["error"], { code }, said)
        assert.include(answer.text, words, said)
      }
      const push = sent({
        message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] },
        configuration: { taskPushNotificationConfig: { url: "https://example.com", token: "a-token" } },
      })
      const refused = yield* post(push)
      assert.include(refused.text, "secrets-off")
      assert.deepStrictEqual((yield* call(gateway, "GET", "/api/v1/jobs", { token })).json["items"], [])
      const nobody = yield* post(sent({ id: "x" }, "GetTask"), "/a2a/%00")
      assert.deepInclude(nobody.json["error"], { code: -32600 })
      assert.include(nobody.text, "agent-not-found")
      const anonymous = yield* call(gateway, "POST", path, { body: sent({ id: "x" }, "GetTask"), headers })
      assert.strictEqual(anonymous.status, 401)
      assert.deepInclude(anonymous.json["error"], { code: -32600 })
      assert.include(anonymous.headers.get("www-authenticate"), "Bearer")
      assert.strictEqual((yield* call(gateway, "GET", path, { token })).status, 405)
      assert.strictEqual((yield* call(gateway, "GET", "/a2a/x/.well-known/agent-card.json", { token })).status, 404)
    }),
  )

  /** Sends a message whose answer has to wait. `spaces` waits until its body began with so many chunks of white space. */
  const sendWaiting = Effect.fnUntraced(function* (to: Effect.Success<ReturnType<typeof setup>>) {
    const { agent, gateway, token } = to
    const params = { message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "Wait." }] } }
    const headers = { authorization: `Bearer ${token}`, "a2a-version": "1.0", connection: "close" }
    const head = postOf(`/a2a/${agent}`, { jsonrpc: "2.0", id: 1, method: "SendMessage", params }, headers)
    const socket = yield* openSocket(Number(new URL(gateway.url).port), head)
    const body = Effect.map(
      Effect.promise(() => socket.receives(/\r\n0\r\n\r\n$/)),
      (text) => JSON.parse(/^\{.*\}/m.exec(text)?.[0] ?? ""),
    )
    const spaces = (count: number) =>
      Effect.promise(() => socket.receives(new RegExp(String.raw`^\r\n(1\r\n\n\r\n){${count}}`, "m")))
    return { ...socket, body, spaces }
  })

  // Under a test clock, queries of Postgres would seem to take too long.
  if (database.kind === "sqlite") {
    it.effect("answers a message when its task ends, however long that takes", () =>
      Effect.gen(function* () {
        const gate = yield* gatedUpstream
        const made = yield* setup(gate.layer, { MAX_WAITING_PER_TENANT: "1" })
        const { body, received, spaces } = yield* sendWaiting(made)
        yield* Effect.repeat(Effect.yieldNow, { until: () => gate.entered() > 0 })
        yield* spaces(1)
        yield* hasArrived(made.gateway)
        for (let quarters = 1; quarters <= 4 * 5; quarters++) {
          yield* TestClock.adjust("15 seconds")
          yield* spaces(1 + quarters)
        }
        const second = yield* failing(made.client.sendMessage(request(message("m-2", "Wait."))))
        assert.include(String(second), "may be open")
        assert.notInclude(received(), "TASK_STATE")
        assert.match(received(), /^HTTP\/1\.1 200 .*^content-type: application\/json\r$/ms)
        yield* gate.open
        const { id, result } = yield* body
        assert.deepStrictEqual([id, result.task.status.state], [1, "TASK_STATE_COMPLETED"])
      }),
    )
  }

  it.live("answers a waiting message with the task's present state when the gateway stops", () =>
    Effect.gen(function* () {
      const gate = yield* gatedUpstream
      const made = yield* setup(gate.layer)
      const { body } = yield* sendWaiting(made)
      yield* Effect.repeat(Effect.yieldNow, { until: () => gate.entered() > 0 })
      const stopping = yield* Effect.forkChild(made.gateway.stop)
      const { result } = yield* body
      assert.strictEqual(result.task.status.state, "TASK_STATE_WORKING")
      yield* gate.open
      yield* Fiber.join(stopping)
    }),
  )

  it.live("gives its address as the client called it, in front of all proxies", () =>
    Effect.gen(function* () {
      const { agent, gateway, token } = yield* setup()
      for (const [forwarded, scheme] of [
        ["https", "https"],
        ["HTTPS, http", "https"],
        ["https,http", "https"],
        ["http, https", "http"],
        ["", "http"],
      ] as const) {
        const { text } = yield* call(gateway, "GET", `/a2a/${agent}/.well-known/agent-card.json`, {
          token,
          headers: { "x-forwarded-proto": forwarded },
        })
        const { host } = new URL(gateway.url)
        assert.include(text, `"url":"${scheme}://${host}/a2a/${agent}"`, forwarded)
      }
    }),
  )

  it.live("counts waiting requests, and starts no job if its end cannot be awaited", () =>
    Effect.gen(function* () {
      const gate = yield* gatedUpstream
      const { agent, client, gateway, token } = yield* setup(gate.layer, { MAX_WAITING_PER_TENANT: "1" })
      const events = client.sendMessageStream(request(message("m-1", "Wait.")))
      const first = yield* Effect.promise(() => events.next())
      assert.strictEqual(first.value?.payload?.$case, "task")
      const second = yield* failing(client.sendMessage(request(message("m-2", "Wait."))))
      assert.include(String(second), "may be open")
      const { json: jobs } = yield* call(gateway, "GET", `/api/v1/jobs?agent_id=${agent}`, { token })
      assert.strictEqual((jobs["items"] as ReadonlyArray<unknown>).length, 1)
      yield* gate.open
      const rest = yield* collect(events)
      assert.deepStrictEqual(shown(rest).slice(-1), ["status 3"])
    }),
  )
})
