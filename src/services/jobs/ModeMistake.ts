/**
 * A mistake in the program of a mode, as a defect. Its message is written here and quotes no data, so owners of jobs
 * may read it.
 */
export class ModeMistake extends Error {
  override readonly name = "ModeMistake"
}
