/** Jobs and steps are encoded without their schemas, with the same result. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { Job, JobStep } from "../../../src/domain/jobs/job.ts"
import { jobJson, stepJson } from "../../../src/http/gateway/jobJson.ts"

const encodeJob = Schema.encodeSync(Job)
const encodeStep = Schema.encodeSync(JobStep)

it.prop("jobJson equals the schema's encoding", [Job], ([job]) => {
  assert.deepStrictEqual(JSON.parse(jobJson(job)), JSON.parse(JSON.stringify(encodeJob(job))))
})

it.prop("stepJson equals the schema's encoding", [JobStep], ([step]) => {
  assert.deepStrictEqual(JSON.parse(stepJson(step)), JSON.parse(JSON.stringify(encodeStep(step))))
})
