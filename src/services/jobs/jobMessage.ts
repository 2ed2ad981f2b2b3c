import type { JobId } from "../../domain/jobs/job.ts"

/** A job as a message in the words of OpenTelemetry's messaging conventions. */
export const jobMessage = (id: JobId) => ({
  "messaging.system": "sealgate",
  "messaging.destination.name": "jobs",
  "messaging.message.id": id,
})
