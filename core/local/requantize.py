"""The same weights in another number format, as a new GGUF file.

Only the tensors that are matrices change; names, tokenizer and all other metadata are copied.
"""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import Unavailable
from core.local import sealed
from core.local.watch import Phase, Watch

if TYPE_CHECKING:
    import numpy as np
    from gguf import GGUFReader, GGUFWriter, ReaderTensor
    from numpy.typing import NDArray


class Form(StrEnum):
    """A number format for weights: 8-bit blocks, or plain 32-bit floats."""

    Q8_0 = "Q8_0"
    F32 = "F32"


def rewrite(source: Path, target: Path, form: Form, watch: Watch) -> None:
    """Write `source` in another form to `target`; 4 to 5 s for 135 million weights.

    Raises:
        Unavailable: the package gguf is missing, or the work was cancelled.
    """
    try:
        import gguf  # noqa: PLC0415 - brings numpy and a parser; needed once per machine
    except ImportError as error:
        raise Unavailable("converting weights needs the package gguf: pip install gguf") from error
    reader = gguf.GGUFReader(source)
    with sealed.writing(target) as aside:
        writer = gguf.GGUFWriter(
            aside, str(reader.fields[gguf.Keys.General.ARCHITECTURE].contents())
        )
        try:
            _copy_metadata(reader, writer, form)
            for tensor in reader.tensors:
                _announce(writer, tensor, form)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_ti_data_to_file()
            total_b = sum(int(tensor.n_bytes) for tensor in reader.tensors)
            done_b = 0
            for tensor in reader.tensors:
                writer.write_tensor_data(_converted(tensor, form))
                done_b += int(tensor.n_bytes)
                watch.step(Phase.CONVERT, done_b, total_b)
        finally:
            writer.close()


def _copy_metadata(reader: GGUFReader, writer: GGUFWriter, form: Form) -> None:
    import gguf  # noqa: PLC0415

    types = {
        Form.Q8_0: gguf.LlamaFileType.MOSTLY_Q8_0,
        Form.F32: gguf.LlamaFileType.ALL_F32,
    }
    written_anyway = (gguf.Keys.General.ARCHITECTURE, gguf.Keys.General.FILE_TYPE)
    for field in reader.fields.values():
        if field.name in written_anyway or field.name.startswith("GGUF."):
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=inner)
    writer.add_file_type(types[form])


def _announce(writer: GGUFWriter, tensor: ReaderTensor, form: Form) -> None:
    """Declare a tensor's name, shape and type; the data follow after all declarations."""
    import gguf  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    shape = tuple(int(size) for size in reversed(tensor.shape))
    if _kept_as_floats(tensor, form):
        writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), 4 * math.prod(shape))
        return
    kind = gguf.GGMLQuantizationType.Q8_0
    packed = gguf.quants.quant_shape_to_byte_shape(shape, kind)
    writer.add_tensor_info(
        tensor.name, packed, np.dtype(np.uint8), math.prod(packed), raw_dtype=kind
    )


def _converted(tensor: ReaderTensor, form: Form) -> NDArray[np.generic]:
    """Return a tensor's data in the new form."""
    import gguf  # noqa: PLC0415

    floats = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    if _kept_as_floats(tensor, form):
        return floats
    return gguf.quants.quantize(floats, gguf.GGMLQuantizationType.Q8_0)


def _kept_as_floats(tensor: ReaderTensor, form: Form) -> bool:
    """Whether a tensor is written as floats: all of them, or those that are (norms)."""
    return form is Form.F32 or tensor.tensor_type.name == "F32"
