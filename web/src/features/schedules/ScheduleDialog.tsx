// Making and changing a schedule, with the times at which it would fire.
import { type FormEvent, useDeferredValue, useId, useState } from "react";
import { asProblem } from "../../api/problem";
import type { CreateSchedule, Schedule } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { formatMoment } from "../../components/format";
import { useNotify } from "../../components/Notices";
import { ProblemPanel } from "../../components/States";
import { usePreview, useRemoveSchedule, useSaveSchedule } from "./queries";
import { formOf, type TimesForm, timesFrom, UNITS } from "./words";

interface ScheduleDialogProps {
  workspaceId: string;
  /** Absent: a new one. */
  schedule?: Schedule;
  onClose: () => void;
}

export function ScheduleDialog({ workspaceId, schedule, onClose }: ScheduleDialogProps) {
  const [name, setName] = useState(schedule?.name ?? "");
  const [prompt, setPrompt] = useState(schedule?.prompt ?? "");
  const [form, setForm] = useState(() => formOf(schedule));
  const [missed, setMissed] = useState<string>(schedule?.missed ?? "once");
  const [overlap, setOverlap] = useState<string>(schedule?.overlap ?? "skip");
  const notify = useNotify();
  const save = useSaveSchedule(workspaceId, schedule?.id, () => {
    notify(schedule ? `Changed ${name}` : `${name} is set`);
    onClose();
  });
  const times = timesFrom(form);
  const nameId = useId();
  const promptId = useId();
  const missedId = useId();
  const overlapId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!times) return;
    const policies = { missed, overlap } as Pick<CreateSchedule, "missed" | "overlap">;
    save.mutate({ name: name.trim(), prompt: prompt.trim(), ...times, ...policies });
  };
  return (
    <Dialog title={schedule ? `Change ${schedule.name}` : "New schedule"} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        {!schedule && (
          <div className="field">
            <label htmlFor={nameId}>Name</label>
            <input
              id={nameId}
              data-autofocus
              required
              maxLength={100}
              autoComplete="off"
              placeholder="morning report"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </div>
        )}
        <div className="field">
          <label htmlFor={promptId}>What is said to the agent</label>
          <textarea
            id={promptId}
            required
            rows={3}
            placeholder="Say what changed since yesterday."
            value={prompt}
            onChange={(event) => setPrompt(event.target.value)}
          />
        </div>
        <TimesFields form={form} onChange={setForm} />
        <div className="field-pair">
          <div className="field">
            <label htmlFor={missedId}>Times that were missed</label>
            <select id={missedId} value={missed} onChange={(event) => setMissed(event.target.value)}>
              <option value="once">are made up for once</option>
              <option value="all">are all made up for</option>
              <option value="skip">are left out</option>
            </select>
          </div>
          <div className="field">
            <label htmlFor={overlapId}>While the one before goes on</label>
            <select id={overlapId} value={overlap} onChange={(event) => setOverlap(event.target.value)}>
              <option value="skip">it is left out</option>
              <option value="queue">it waits</option>
              <option value="allow">it is said all the same</option>
            </select>
          </div>
        </div>
        {save.isError && <ProblemPanel error={save.error} what="It was not saved." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            tone="primary"
            isBusy={save.isPending}
            disabled={!name.trim() || !prompt.trim() || !times}
          >
            Save
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function TimesFields({ form, onChange }: { form: TimesForm; onChange: (form: TimesForm) => void }) {
  const countId = useId();
  const unitId = useId();
  const cronId = useId();
  const zoneId = useId();
  const times = useDeferredValue(timesFrom(form));
  const preview = usePreview(times);
  return (
    <fieldset className="field">
      <legend>When</legend>
      <div className="segments">
        {(["every", "cron"] as const).map((way) => (
          <label key={way}>
            <input
              type="radio"
              name="way"
              checked={form.way === way}
              onChange={() => onChange({ ...form, way })}
            />
            <span>{way === "every" ? "Every so often" : "At set times"}</span>
          </label>
        ))}
      </div>
      {form.way === "every" ? (
        <div className="field-row">
          <label htmlFor={countId}>Every</label>
          <input
            id={countId}
            type="number"
            min={1}
            required
            value={form.count}
            onChange={(event) => onChange({ ...form, count: event.target.value })}
          />
          <label htmlFor={unitId} className="visually-hidden">
            Unit
          </label>
          <select
            id={unitId}
            value={form.unit}
            onChange={(event) => onChange({ ...form, unit: event.target.value })}
          >
            {UNITS.map(([word]) => (
              <option key={word} value={word}>
                {word}
              </option>
            ))}
          </select>
        </div>
      ) : (
        <div className="field-pair">
          <div className="field">
            <label htmlFor={cronId}>Minute, hour, day, month, weekday</label>
            <input
              id={cronId}
              className="mono"
              required
              spellCheck={false}
              value={form.cron}
              onChange={(event) => onChange({ ...form, cron: event.target.value })}
            />
          </div>
          <div className="field">
            <label htmlFor={zoneId}>Time zone</label>
            <input
              id={zoneId}
              required
              spellCheck={false}
              value={form.zone}
              onChange={(event) => onChange({ ...form, zone: event.target.value })}
            />
          </div>
        </div>
      )}
      <p className="hint" role="status">
        {preview.isError
          ? (asProblem(preview.error).detail ?? asProblem(preview.error).title)
          : preview.data &&
            (preview.data.slots.length > 0
              ? `Next: ${preview.data.slots.map(formatMoment).join("; ")}`
              : "It would never fire.")}
      </p>
    </fieldset>
  );
}

export function RemoveScheduleDialog({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const notify = useNotify();
  const remove = useRemoveSchedule(schedule.workspace_id, schedule.id, () => {
    notify(`Removed ${schedule.name}`);
    onClose();
  });
  return (
    <Dialog title={`Remove ${schedule.name}?`} onClose={onClose}>
      <div className="form">
        <p>It fires no more, and what it did before is no longer listed. Work that it began goes on.</p>
        {remove.isError && <ProblemPanel error={remove.error} what="It was not removed." />}
        <footer className="dialog-foot">
          <Button onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button tone="danger" icon="trash" isBusy={remove.isPending} onClick={() => remove.mutate()}>
            Remove
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
