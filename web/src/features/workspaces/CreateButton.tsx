import { useState } from "react";
import { Button } from "../../components/Button";
import { CreateDialog } from "./CreateDialog";

export function CreateButton({ label = "New workspace" }: { label?: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button tone="primary" icon="plus" onClick={() => setIsOpen(true)}>
        {label}
      </Button>
      {isOpen && <CreateDialog onClose={() => setIsOpen(false)} />}
    </>
  );
}
