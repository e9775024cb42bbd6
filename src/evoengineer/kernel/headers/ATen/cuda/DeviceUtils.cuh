#pragma once
#include "../../evo/torch.h"
#include "../../evo/device_utils.h"
