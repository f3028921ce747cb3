"""Architectures of `transformers`, each as a small model with random weights and inputs to run it on.

usage: architectures.py [NAME...]      builds and runs them in eager mode; prints parameters and outputs

An architecture is named by its model type in transformers. Kinds share their inputs and the sizes of their
configurations; what differs is written at the entry.
"""
import sys
from dataclasses import dataclass, field

import torch

TEXT = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
            max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
GPT = dict(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_inner=64, n_positions=64, bos_token_id=1, eos_token_id=2)
GQA = dict(TEXT, num_key_value_heads=2, head_dim=8)
SEQ2SEQ = dict(vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64,
               pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=2)
T5 = dict(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, pad_token_id=0, eos_token_id=1,
          decoder_start_token_id=0)
VISION = dict(image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
              intermediate_size=64)
SPEECH = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=32,
              conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16,
              num_conv_pos_embedding_groups=2, mask_time_prob=0.0, apply_spec_augment=False)


@dataclass
class Architecture:
    name: str
    kind: str
    config: dict = field(default_factory=dict)
    auto: str = "AutoModel"  # the class that builds it
    fixed: tuple = ()        # sizes that its code fixes: "batch", "seq"


def kind(name, common, *entries):
    return [Architecture(entry, name, dict(common)) if isinstance(entry, str) else
            Architecture(entry[0], name, {**common, **entry[1]}, *entry[2:]) for entry in entries]


ARCHITECTURES = {a.name: a for a in [
    *kind("encoder", TEXT,
          "bert", "roberta", "camembert", "xlm-roberta", "electra", "ernie", "megatron-bert", "mpnet", "splinter",
          "roformer", "data2vec-text", "nystromformer",
          ("xmod", dict(languages=["en_XX"], default_language="en_XX")),
          ("distilbert", dict(dim=32, n_heads=4, n_layers=2, hidden_dim=64)),
          ("albert", dict(embedding_size=16)),
          ("deberta", dict(relative_attention=True, position_biased_input=False, pos_att_type=["p2c", "c2p"])),
          ("deberta-v2", dict(relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"])),
          ("mobilebert", dict(embedding_size=16, intra_bottleneck_size=16, true_hidden_size=16)),
          ("squeezebert", dict(embedding_size=32)),
          ("convbert", dict(embedding_size=16, conv_kernel_size=3)),
          ("rembert", dict(input_embedding_size=16, output_embedding_size=16)),
          ("ibert", dict()),
          ("fnet", dict(), "AutoModel", ("seq",)),
          ("modernbert", dict(global_attn_every_n_layers=2, local_attention=8, reference_compile=False)),
          ("big_bird", dict(attention_type="original_full")),
          ("esm", dict(mask_token_id=3, position_embedding_type="rotary", token_dropout=False)),
          ("lilt", dict(channel_shrink_ratio=2, hidden_size=48)),
          ("layoutlm", dict())),
    *kind("decoder", GPT, "gpt2", "openai-gpt",
          ("gptj", dict(rotary_dim=4)),
          ("codegen", dict(rotary_dim=4)),
          ("gpt_bigcode", dict(multi_query=True)),
          ("ctrl", dict(dff=64))),
    *kind("decoder", TEXT, "opt", "biogpt", "gpt_neox", "phi", "persimmon",
          ("stablelm", dict(num_key_value_heads=4)),
          ("gpt_neo", dict(num_layers=2, attention_types=[[["global", "local"], 1]], window_size=8)),
          ("bloom", dict(n_layer=2, n_head=4)),
          ("falcon", dict(new_decoder_architecture=False)),
          ("mpt", dict(d_model=32, n_heads=4, n_layers=2, expansion_ratio=2, max_seq_len=64)),
          ("xglm", dict(d_model=32, ffn_dim=64, num_layers=2, attention_heads=4))),
    *kind("decoder", GQA, "llama", "mistral", "qwen2", "qwen3", "phi3", "gemma", "gemma2", "starcoder2", "cohere",
          "olmo", "olmo2", "granite", "glm", "smollm3", "nemotron",
          ("gemma3_text", dict(sliding_window=8)),
          ("mixtral", dict(num_local_experts=4, num_experts_per_tok=2)),
          ("qwen2_moe", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
                             shared_expert_intermediate_size=32))),
    *kind("encoder-decoder", SEQ2SEQ, "bart", "mbart", "pegasus", "marian", "m2m_100", "blenderbot", "blenderbot-small",
          "plbart"),
    *kind("encoder-decoder", T5, "t5", "mt5", "umt5"),
    *kind("vision", VISION, "vit", "deit", "beit", "dinov2", "vit_msn", "ijepa", "dinov2_with_registers",
          ("yolos", dict(image_size=[32, 32], num_detection_tokens=4)),
          ("segformer", dict(hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2]))),
    *kind("vision", dict(image_size=32),
          ("swin", dict(embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4, patch_size=4)),
          ("swinv2", dict(embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4, patch_size=4)),
          ("convnext", dict(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)),
          ("convnextv2", dict(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)),
          ("resnet", dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])),
          ("regnet", dict(embedding_size=8, hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], groups_width=8)),
          ("mobilenet_v1", dict(depth_multiplier=0.25)),
          ("mobilenet_v2", dict(depth_multiplier=0.25)),
          ("poolformer", dict(depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16])),
          ("efficientnet", dict(width_coefficient=0.25, depth_coefficient=0.2, hidden_dim=320)),
          ("bit", dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_groups=1))),
    *kind("speech", SPEECH, "wav2vec2", "hubert", "wavlm", "unispeech", "data2vec-audio"),
    *kind("spectrogram", dict(SEQ2SEQ, num_mel_bins=8, max_source_positions=32, max_target_positions=32), "whisper"),
    *kind("patches", dict(VISION, num_mel_bins=16, max_length=32, patch_size=8, frequency_stride=8, time_stride=8),
          "audio-spectrogram-transformer"),
    *kind("image-text", dict(projection_dim=16, text_config=TEXT, vision_config=VISION), "clip", "siglip",
          "chinese_clip"),
]}


def small_config(architecture):
    from transformers import AutoConfig
    return AutoConfig.for_model(architecture.name, **architecture.config)


def build(architecture):
    """The module in evaluation mode, with seeded weights; it returns a tuple or an output object."""
    import transformers
    torch.manual_seed(0)
    config = small_config(architecture)
    if architecture.kind == "decoder":
        config.use_cache = False
    model = getattr(transformers, architecture.auto).from_config(config)
    return model.eval()


def inputs(architecture, batch=2, seq=12):
    """Keyword arguments of the module; sizes named batch and seq may be dynamic."""
    torch.manual_seed(1)
    tokens = lambda: torch.randint(3, 90, (batch, seq))
    mask = torch.ones(batch, seq, dtype=torch.long)
    mask[-1, seq - seq // 4:] = 0
    pixels = torch.randn(batch, 3, 32, 32)
    match architecture.kind:
        case "encoder" if architecture.name in ("layoutlm", "lilt"):
            return {"input_ids": tokens(), "attention_mask": mask, "bbox": torch.randint(0, 60, (batch, seq, 4)).sort(-1)[0]}
        case "encoder" if architecture.name == "fnet":
            return {"input_ids": tokens()}
        case "encoder" | "decoder":
            return {"input_ids": tokens()} if architecture.name in ("openai-gpt",) else {
                "input_ids": tokens(), "attention_mask": mask}
        case "encoder-decoder":
            return {"input_ids": tokens(), "attention_mask": mask, "decoder_input_ids": tokens()}
        case "vision":
            return {"pixel_values": pixels}
        case "speech":
            return {"input_values": torch.randn(batch, seq * 40)}
        case "spectrogram":
            return {"input_features": torch.randn(batch, 8, 64), "decoder_input_ids": tokens()}
        case "patches":
            return {"input_values": torch.randn(batch, 32, 16)}
        case "image-text":
            return {"input_ids": tokens(), "attention_mask": mask, "pixel_values": pixels}


def dynamic_shapes(architecture, example):
    """For torch.export: the batch of every input, and the sequence of tokens."""
    from torch.export import Dim
    batch, seq = Dim("batch", min=1, max=64), Dim("seq", min=2, max=48)
    shapes = {}
    for name, tensor in example.items():
        dims = {} if "batch" in architecture.fixed else {0: batch}
        if name in ("input_ids", "attention_mask", "bbox", "decoder_input_ids") and "seq" not in architecture.fixed:
            dims[1] = seq
        shapes[name] = dims
    return shapes


def tensors_of(output):
    """The float tensors of an output, flat, by name."""
    if isinstance(output, torch.Tensor):
        return {"output": output}
    items = output.items() if hasattr(output, "items") else enumerate(output)
    found = {}
    for name, value in items:
        if isinstance(value, torch.Tensor):
            found[str(name)] = value
        elif isinstance(value, (tuple, list)) or hasattr(value, "items"):
            found.update({f"{name}.{inner}": tensor for inner, tensor in tensors_of(value).items()})
    return found


def main():
    names = sys.argv[1:] or list(ARCHITECTURES)
    failed = 0
    for name in names:
        architecture = ARCHITECTURES[name]
        try:
            model = build(architecture)
            with torch.no_grad():
                outputs = tensors_of(model(**inputs(architecture)))
            count = sum(p.numel() for p in model.parameters())
            print(f"{name:<32} {architecture.kind:<16} {count:>9} parameters  "
                  + ", ".join(f"{key}{list(value.shape)}" for key, value in outputs.items()), flush=True)
        except Exception as error:
            failed += 1
            print(f"{name:<32} {architecture.kind:<16} {type(error).__name__}: {str(error).splitlines()[0][:120]}", flush=True)
    print(f"{len(names) - failed} of {len(names)} run")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
