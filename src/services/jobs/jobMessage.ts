import type { JobId } from "../../domain/jobs/job.ts"

/** Attributes of a job in OpenTelemetry's messaging conventions. */
export const jobMessage = (id: JobId) => ({
  "messaging.system": "sealgate",
  "messaging.destination.name": "jobs",
  "messaging.message.id": id,
})
