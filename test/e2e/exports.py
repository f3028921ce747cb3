"""How the end-to-end models are built and exported. A change of this file exports them again.

Architectures are the published ones with random weights; "NAME-small" is the same graph in a size for quick
tests.
"""
import warnings
from dataclasses import dataclass
from typing import Callable


@dataclass
class Export:
    module: Callable  # () -> (torch module, example inputs, dynamic_shapes)
    input_names: list
    output_names: list
    external_data: bool = False  # weights beside the file instead of in it


def seed():
    import torch
    torch.manual_seed(0)


# The weights of transformers are drawn with a deviation of 1/sqrt(hidden), as trained ones have: with the
# configurations' own 0.02 attention would be all but uniform.

# ---- Transformers ---------------------------------------------------------------------------------


def token_example(names):
    import torch
    dims = {0: torch.export.Dim("batch", min=1, max=256), 1: torch.export.Dim("seq", min=2, max=512)}
    return tuple(torch.ones(2, 8, dtype=torch.int64) for _ in names), tuple(dict(dims) for _ in names)


def bert(hidden, layers, heads, vocabulary):
    def build():
        import torch
        from transformers import BertConfig, BertModel

        class Wrapper(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, input_ids, attention_mask):
                result = self.model(input_ids=input_ids, attention_mask=attention_mask)
                return result.last_hidden_state, result.pooler_output

        seed()
        config = BertConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                            intermediate_size=4 * hidden, vocab_size=vocabulary,
                            initializer_range=hidden ** -0.5)
        return Wrapper(BertModel(config)), *token_example(("input_ids", "attention_mask"))
    return build


def gpt2(hidden, layers, heads, vocabulary):
    def build():
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel

        class Wrapper(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, input_ids):
                return self.model(input_ids=input_ids, use_cache=False).logits

        seed()
        config = GPT2Config(n_embd=hidden, n_layer=layers, n_head=heads, vocab_size=vocabulary,
                            use_cache=False, initializer_range=hidden ** -0.5)
        return Wrapper(GPT2LMHeadModel(config)), *token_example(("input_ids",))
    return build


def image_example(size):
    import torch
    return (torch.zeros(2, 3, size, size),), ({0: torch.export.Dim("batch", min=1, max=256)},)


def vit(hidden, layers, heads, size, patch):
    def build():
        import torch
        from transformers import ViTConfig, ViTForImageClassification

        class Wrapper(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, pixels):
                return self.model(pixel_values=pixels).logits

        seed()
        config = ViTConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                           intermediate_size=4 * hidden, image_size=size, patch_size=patch,
                           num_labels=1000 if hidden > 256 else 10,
                           initializer_range=hidden ** -0.5)
        return Wrapper(ViTForImageClassification(config)), *image_example(size)
    return build


# ---- Convolutional networks, written out -----------------------------------------------------------


def randomize(module):
    """Weights that keep the signal's size through all layers, and statistics as training leaves them:
    torch's own initial values make outputs that hardly depend on the input, which would hide mistakes."""
    import torch
    for m in module.modules():
        if isinstance(m, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
        if isinstance(m, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(m.running_mean, 0, 0.1)
            torch.nn.init.uniform_(m.running_var, 0.5, 1.5)
            torch.nn.init.uniform_(m.weight, 0.8, 1.2)
            torch.nn.init.normal_(m.bias, 0, 0.1)
        if isinstance(m, torch.nn.Linear):
            torch.nn.init.normal_(m.weight, 0, m.in_features ** -0.5)
    return module


def resnet(blocks, width, classes, size):
    def build():
        import torch
        from torch import nn

        def conv(cin, cout, kernel, stride=1):
            return [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(cout)]

        class Bottleneck(nn.Module):
            def __init__(self, cin, mid, stride):
                super().__init__()
                self.body = nn.Sequential(*conv(cin, mid, 1), nn.ReLU(), *conv(mid, mid, 3, stride), nn.ReLU(),
                                          *conv(mid, 4 * mid, 1))
                self.shortcut = (nn.Sequential(*conv(cin, 4 * mid, 1, stride))
                                 if stride != 1 or cin != 4 * mid else nn.Identity())

            def forward(self, x):
                return torch.relu(self.body(x) + self.shortcut(x))

        seed()
        layers, cin = [*conv(3, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], width
        for stage, count in enumerate(blocks):
            for block in range(count):
                mid = width << stage
                layers.append(Bottleneck(cin, mid, 2 if stage and not block else 1))
                cin = 4 * mid
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(cin, classes)]
        return randomize(nn.Sequential(*layers)), *image_example(size)
    return build


def mobilenet_v2(table, head, classes, size):
    def build():
        from torch import nn

        def conv(cin, cout, kernel, stride=1, groups=1, activate=True):
            layers = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False),
                      nn.BatchNorm2d(cout)]
            return layers + [nn.ReLU6()] if activate else layers

        class InvertedResidual(nn.Module):
            def __init__(self, cin, cout, stride, expand):
                super().__init__()
                mid = cin * expand
                self.residual = stride == 1 and cin == cout
                self.body = nn.Sequential(*(conv(cin, mid, 1) if expand != 1 else []),
                                          *conv(mid, mid, 3, stride, mid), *conv(mid, cout, 1, activate=False))

            def forward(self, x):
                return x + self.body(x) if self.residual else self.body(x)

        seed()
        cin = table[0][1] * 2
        layers = conv(3, cin, 3, 2)
        for expand, cout, count, stride in table:
            for block in range(count):
                layers.append(InvertedResidual(cin, cout, stride if block == 0 else 1, expand))
                cin = cout
        layers += [*conv(cin, head, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(head, classes)]
        return randomize(nn.Sequential(*layers)), *image_example(size)
    return build


# ---- The table ---------------------------------------------------------------------------------------

EXPORTS = {}
for name, config in {"bert-small": (64, 2, 4, 211), "minilm": (384, 6, 12, 30522),
                     "bert-base": (768, 12, 12, 30522)}.items():
    EXPORTS[name] = Export(bert(*config), ["input_ids", "attention_mask"], ["hidden", "pooled"],
                           external_data=name == "bert-base")
for name, config in {"gpt2-small": (64, 2, 4, 211), "gpt2": (768, 12, 12, 50257)}.items():
    EXPORTS[name] = Export(gpt2(*config), ["input_ids"], ["logits"], external_data=name == "gpt2")
for name, config in {"vit-small": (64, 2, 4, 32, 8), "vit-base": (768, 12, 12, 224, 16)}.items():
    EXPORTS[name] = Export(vit(*config), ["pixels"], ["logits"])
for name, config in {"resnet-small": ((1, 1, 1, 1), 8, 10, 64), "resnet50": ((3, 4, 6, 3), 64, 1000, 224)}.items():
    EXPORTS[name] = Export(resnet(*config), ["pixels"], ["logits"])
MOBILE = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
for name, config in {"mobilenet-small": ([(1, 8, 1, 1), (6, 8, 2, 2), (6, 16, 2, 2)], 32, 10, 64),
                     "mobilenetv2": (MOBILE, 1280, 1000, 224)}.items():
    EXPORTS[name] = Export(mobilenet_v2(*config), ["pixels"], ["logits"])


def export(name, path):
    """Writes the ONNX file of EXPORTS[name]."""
    import logging
    import torch
    logging.disable(logging.WARNING)  # of the exporter, about packages that it can do without
    chosen = EXPORTS[name]
    module, example, dynamic_shapes = chosen.module()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), example, str(path), dynamo=True, input_names=chosen.input_names,
                          output_names=chosen.output_names, dynamic_shapes=dynamic_shapes,
                          external_data=chosen.external_data, verbose=False)
