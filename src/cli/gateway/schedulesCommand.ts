import { Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import type { Schedule } from "../../client/gateway/GatewaySchedules.ts"
import { givenOf, optionalFlag, valueFlag } from "../flags.ts"
import { printableLine } from "../printable.ts"
import { table } from "../table.ts"
import { makeDeleteCommand, makeItemCommand } from "./itemCommands.ts"
import { makeListCommand } from "./listCommand.ts"
import { askAndPrint, gatewayFlags, withGatewayHelp } from "./remote.ts"
import { taskText } from "./report.ts"

const EXAMPLE = "01a20189-b5c3-7d10-9a41-3f7d2c9f5e08"

const taskOf = ({ request }: Schedule): string =>
  printableLine(taskText("task" in request ? request.task : request.messages))
const timesOf = ({ cron, time_zone = "UTC" }: Schedule): string => `${cron} (${time_zone})`
/** The job of the last run, or why there is none. */
const lastOf = ({ last_job_id, last_problem }: Schedule): string =>
  last_problem === undefined ? (last_job_id ?? "none yet") : `no job: ${printableLine(last_problem.title)}`

const keyOf = ({ key_id = "none" }: Schedule): string => key_id

const textOf = (schedule: Schedule): string =>
  table([
    ["id", schedule.id],
    ["agent", schedule.agent_id],
    ["key", keyOf(schedule)],
    ["times", timesOf(schedule)],
    ["next", schedule.next_at],
    ["last", lastOf(schedule)],
    ["task", taskOf(schedule)],
    ["created", schedule.created_at],
  ])

const createCommand = Command.make(
  "create",
  {
    task: Argument.String("task").pipe(Argument.withDescription("The task, in quotes")),
    agent: valueFlag("agent", "id", "Id of the agent that gets it, as in `sealgate agents`", Schema.String),
    cron: valueFlag(
      "cron",
      "times",
      'Minute, hour, day of the month, month and day of the week, such as "0 7 * * 1-5"',
      Schema.String,
    ),
    timeZone: optionalFlag(
      "time-zone",
      "zone",
      "Zone of these times, such as Europe/Oslo (default UTC)",
      Schema.String,
    ),
    mode: optionalFlag("mode", "name", "How its answers are checked, as in run (default: the agent's)", Schema.String),
    concurrencyKey: optionalFlag(
      "concurrency-key",
      "key",
      "Its jobs start only while no other job of your tenant with this key is under way",
      Schema.String,
    ),
    ...gatewayFlags,
  },
  (input) => {
    const concurrency = Option.map(input.concurrencyKey, (key) => ({ key }))
    const plan = {
      agent_id: input.agent,
      cron: input.cron,
      request: { task: input.task, ...givenOf({ mode: input.mode, concurrency }) },
      ...givenOf({ time_zone: input.timeZone }),
    }
    return askAndPrint(
      input,
      (gateway, options) => gateway.schedules.create(plan, options),
      ({ id, next_at }) => `${id}\nIts first job starts at ${next_at}.`,
    )
  },
).pipe(
  withGatewayHelp({
    summary: "Create a schedule",
    description:
      "Gives an agent a task whenever the times match, and prints the schedule's id. Times missed while no gateway ran give one job in all.",
    examples: [
      [`sealgate schedules create --agent ID --cron "0 7 * * 1-5" "Report."`, "On weekdays at seven"],
      [`sealgate schedules create --agent ID --cron "0 7 * * *" --json "Hi."`, "For programs"],
    ],
    exits: { 0: "the schedule was created" },
    next: "`sealgate schedules` lists them.",
  }),
)

const showCommand = makeItemCommand("show", {
  kind: "schedule",
  call: (gateway, id, options) => gateway.schedules.get(id, options),
  text: textOf,
  help: {
    summary: "Show a schedule",
    description: "Shows a schedule's task, its next time, and its last job, or why there was none.",
    examples: [
      [`sealgate schedules show ${EXAMPLE}`, "Times, task and last job"],
      [`sealgate schedules show ${EXAMPLE} --json`, "For programs"],
    ],
    next: "`sealgate jobs show <id>` shows its last job.",
  },
})

const deleteCommand = makeDeleteCommand("delete", {
  kind: "schedule",
  done: "Deleted",
  summary: "Delete a schedule",
  description: "Deletes a schedule. Its jobs stay.",
  example: [EXAMPLE, "It creates no further jobs"],
  remove: (gateway, id, options) => gateway.schedules.remove(id, options),
})

export const schedulesCommand = makeListCommand("schedules", {
  list: (gateway, at) => gateway.schedules.list(at),
  none: "No schedules yet: `sealgate schedules create --help` shows how.",
  columns: ["ID", "TIMES", "NEXT", "LAST", "KEY", "TASK"],
  row: (item) => [item.id, timesOf(item), item.next_at, lastOf(item), keyOf(item), taskOf(item)],
  help: {
    summary: "List, create and delete schedules",
    description: "Lists the schedules of your tenant, newest first: tasks that agents get at set times.",
    examples: [
      ["sealgate schedules", "The newest 20, with next times and last results"],
      [`sealgate schedules create --agent ID --cron "0 7 * * *" "Report."`, "A task for every morning"],
      ["sealgate schedules --limit 100 --json", "For programs"],
    ],
    next: "`sealgate schedules delete <id>` deletes one.",
  },
}).pipe(Command.withSubcommands([createCommand, showCommand, deleteCommand]))
