import { useId } from "preact/hooks"
import type { Group } from "./openApi.ts"

/** Where there is room beside the operations, all of them are listed there from the beginning. */
const hasRoom = (): boolean => matchMedia("(min-width: 60rem)").matches

interface ContentsProps {
  readonly groups: ReadonlyArray<Group>
  readonly filter: string
  readonly onFilter: (text: string) => void
}

/** All operations by name, and a field that leaves out those that are not looked for. */
export const Contents = ({ filter, groups, onFilter }: ContentsProps) => {
  const field = useId()
  const count = groups.reduce((sum, { operations }) => sum + operations.length, 0)
  return (
    <div class="contents stack">
      <div class="field" role="search">
        <label for={field}>Look for</label>
        <input
          id={field}
          type="search"
          autocomplete="off"
          spellcheck={false}
          placeholder="word, path, method"
          value={filter}
          onInput={({ currentTarget: { value } }) => onFilter(value)}
        />
        <p class="small muted" role="status">
          {filter.trim() === "" ? `${count} operations` : `${count} found`}
        </p>
      </div>
      <nav aria-label="Contents">
        <details open={hasRoom()}>
          <summary>Contents</summary>
          <ul class="stack">
            {groups.map(({ name, operations }) => (
              <li key={name}>
                <p class="small muted">{name}</p>
                <ul>
                  {operations.map(({ operationId, summary }) => (
                    <li key={operationId}>
                      <a href={`#${operationId}`}>{summary ?? operationId}</a>
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </details>
      </nav>
    </div>
  )
}
