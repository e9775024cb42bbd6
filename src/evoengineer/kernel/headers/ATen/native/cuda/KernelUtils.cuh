#pragma once
#include "../../../evo/torch.h"
#include "../../../evo/kernel_utils.h"
