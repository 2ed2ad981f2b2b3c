/** Ends the process quietly when its reader closes the pipe, as `head` does. */
export const endQuietly = (): void => {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
    process.exit(0)
  })
}
