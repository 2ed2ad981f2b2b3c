/** All cases, in the order they run and appear. */
import type { Case } from "../harness/Case.ts"
import { accept } from "./accept.ts"
import { budgets } from "./budgets.ts"
import { client } from "./client.ts"
import { completion, latency } from "./completion.ts"
import { full } from "./full.ts"
import { gateway } from "./gateway.ts"
import { jobs } from "./jobs.ts"
import { ledger } from "./ledger.ts"
import { long } from "./long.ts"
import { memory } from "./memory.ts"
import { openStreams } from "./openStreams.ts"
import { primitives } from "./primitives.ts"
import { refusal } from "./refusal.ts"
import { sessions } from "./sessions.ts"
import { size } from "./size.ts"
import { start } from "./start.ts"
import { pacedStream, unpacedStream } from "./stream.ts"
import { writers } from "./writers.ts"

export const CASES: ReadonlyArray<Case> = [
  completion,
  latency,
  unpacedStream,
  pacedStream,
  openStreams,
  client,
  refusal,
  size,
  long,
  sessions,
  gateway,
  budgets,
  jobs,
  accept,
  writers,
  full,
  ledger,
  start,
  memory,
  primitives,
]
