import type { Job } from "../../../client/gateway/GatewayJobs.ts"
import { moment } from "../../shared/format.ts"

type Waiting = NonNullable<Job["waiting"]>

const REASONS = {
  worker: "for a free worker",
  "tenant-limit": "because your tenant has as many running jobs as it may",
  "key-limit": "because its key has as many running jobs as it may",
  concurrency: "for other jobs with its concurrency key to end",
  retry: "to try again after a failure",
  budget: "for a budget to renew",
  timer: "as its program says",
} as const satisfies Record<Waiting["reason"], string>

/** Continues "waits": why, and until when. */
export const waitingWords = ({ reason, until }: Waiting): string =>
  until === undefined ? REASONS[reason] : `${REASONS[reason]}, until ${moment(until)}`
