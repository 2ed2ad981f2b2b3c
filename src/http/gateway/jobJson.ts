/**
 * Encodes jobs and steps as their schemas do, but without validation: only their times are not JSON yet.
 */
import { DateTime } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Job, JobStep } from "../../domain/jobs/job.ts"

const encodedStep = (step: JobStep) => ({
  ...step,
  started_at: DateTime.formatIso(step.started_at),
  finished_at: DateTime.formatIso(step.finished_at),
})

export const stepJson = (step: JobStep): string => JSON.stringify(encodedStep(step))

export const jobJson = (job: Job): string => {
  const { created_at, expires_at, finished_at, started_at, steps } = job
  const encoded = {
    ...job,
    steps: steps.map(encodedStep),
    created_at: DateTime.formatIso(created_at),
    expires_at: DateTime.formatIso(expires_at),
  }
  return JSON.stringify({
    ...encoded,
    ...(started_at === undefined ? {} : { started_at: DateTime.formatIso(started_at) }),
    ...(finished_at === undefined ? {} : { finished_at: DateTime.formatIso(finished_at) }),
  })
}

/** A response with a job. */
export const jobResponse = (
  job: Job,
  options?: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> },
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(jobJson(job), { contentType: "application/json", ...options })
